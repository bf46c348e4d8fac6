package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clientgotesting "k8s.io/client-go/testing"

	"github.com/akraino-icn/bpa/pkg/access"
)

func user(t *testing.T, kind access.Kind) access.User {
	t.Helper()
	u, err := access.NewUser("edge-1", kind, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestRevoke: only bindings are deleted that BPA has made for this Provisioning.
func TestRevoke(t *testing.T) {
	kept, old, others := user(t, access.Admin), user(t, access.Admin), user(t, access.Admin)
	health, oldHealth := user(t, access.Health), user(t, access.Health)
	kube := withoutRights()
	c := New(kube, "edge-1")
	for _, u := range []access.User{kept, old, health, oldHealth, oldHealth} { // the last one twice: Bind can be repeated
		if err := c.Bind(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	if err := New(kube, "edge-2").Bind(t.Context(), others); err != nil {
		t.Fatal(err)
	}
	// Bindings that a user of the cluster has made, with the labels of BPA.
	foreign := access.AdminBinding("edge-1", user(t, access.Admin))
	foreign.Name = "mine"
	group := access.AdminBinding("edge-1", user(t, access.Admin))
	group.Subjects = []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "operators"}}
	for _, b := range []*rbacv1.ClusterRoleBinding{foreign, group} {
		if _, err := kube.RbacV1().ClusterRoleBindings().Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	revoked, err := c.Revoke(t.Context(), nil, keep(kept, health))
	want := []string{old.String(), oldHealth.String()}
	slices.Sort(want)
	if diff := cmp.Diff(want, revoked); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	left, err := kube.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range left.Items {
		names = append(names, b.Name)
	}
	want = []string{kept.Binding(), health.Binding(), others.Binding(), "mine", group.Name}
	slices.Sort(want)
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("ClusterRoleBindings that are left (-want +got):\n%s", diff)
	}
	leases, err := kube.RbacV1().RoleBindings("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(leases.Items) != 1 || leases.Items[0].Name != health.Binding() {
		t.Errorf("RoleBindings that are left: %+v, %v", leases.Items, err)
	}
}

func keep(users ...access.User) func(context.Context) (func(access.User) bool, error) {
	return func(context.Context) (func(access.User) bool, error) {
		return func(u access.User) bool { return slices.Contains(users, u) }, nil
	}
}

// withoutRights returns a cluster that says of every user that it has no rights.
func withoutRights() *fake.Clientset {
	kube := fake.NewClientset()
	kube.PrependReactor("create", "subjectaccessreviews", func(clientgotesting.Action) (bool, runtime.Object, error) {
		return true, &authorization.SubjectAccessReview{}, nil
	})
	return kube
}

// bind creates a ClusterRoleBinding that somebody with a copy of the kubeconfig has made.
func bind(t *testing.T, kube *fake.Clientset, name string, u access.User) {
	t.Helper()
	b := access.AdminBinding("edge-1", u)
	b.Name, b.Labels = name, nil
	if _, err := kube.RbacV1().ClusterRoleBindings().Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestRevokeWithoutLabels: the binding of a replaced user is deleted, although somebody has removed its
// labels. The binding of a kept user is not, whatever the caller remembers.
func TestRevokeWithoutLabels(t *testing.T) {
	kept, old := user(t, access.Admin), user(t, access.Admin)
	kube := withoutRights()
	bind(t, kube, old.Binding(), old)
	bind(t, kube, kept.Binding(), kept)
	revoked, err := New(kube, "edge-1").Revoke(t.Context(), []access.User{old, kept}, keep(kept))
	if diff := cmp.Diff([]string{old.String()}, revoked); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	left, err := kube.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 1 || left.Items[0].Name != kept.Binding() {
		t.Errorf("left: %+v, %v", left.Items, err)
	}
}

// TestRevokedUserIsStillAllowed: a user counts as revoked only if the cluster gives it no rights any more.
func TestRevokedUserIsStillAllowed(t *testing.T) {
	old := user(t, access.Admin)
	for _, tc := range []struct {
		name  string
		other string           // a binding that somebody made for the user
		allow func(n int) bool // the answer to the nth review
		says  string
	}{
		{"revoked", "", func(int) bool { return false }, ""},
		{"the API server sees it a moment later", "", func(n int) bool { return n < 3 }, ""},
		{"another binding", "mine", func(int) bool { return true }, "delete them there"},
		{"a group", "", func(int) bool { return true }, "look for bindings of the group system:authenticated"},
		{"a part of the rights", "", func(n int) bool { return n%5 == 2 }, "still allows " + old.String() + " to list nodes"},
	} {
		kube, asked := fake.NewClientset(), 0
		bind(t, kube, old.Binding(), old)
		if tc.other != "" {
			bind(t, kube, tc.other, old)
		}
		kube.PrependReactor("create", "subjectaccessreviews", func(action clientgotesting.Action) (bool, runtime.Object, error) {
			asked++
			allowed := tc.allow(asked)
			if tc.name == "a part of the rights" {
				spec := action.(clientgotesting.CreateAction).GetObject().(*authorization.SubjectAccessReview).Spec
				allowed = spec.ResourceAttributes.Resource == "nodes" && spec.User == old.String()
			}
			return true, &authorization.SubjectAccessReview{Status: authorization.SubjectAccessReviewStatus{Allowed: allowed}}, nil
		})
		var err error
		synctest.Test(t, func(t *testing.T) { _, err = New(kube, "edge-1").Revoke(t.Context(), []access.User{old}, keep()) })
		if tc.says == "" && err != nil || tc.says != "" && (!errors.Is(err, ErrStillAllowed) || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if tc.other != "" && (err == nil || !strings.Contains(err.Error(), "ClusterRoleBinding mine (")) {
			t.Errorf("%s: the error does not name it: %v", tc.name, err)
		}
	}
}

// TestRevokeListsBeforeItReads: a user that is stored and bound after the caller decided to revoke keeps
// its rights.
func TestRevokeListsBeforeItReads(t *testing.T) {
	late := user(t, access.Health)
	kube := fake.NewClientset()
	c := New(kube, "edge-1")
	listed := false
	kube.PrependReactor("list", "*", func(clientgotesting.Action) (bool, runtime.Object, error) { listed = true; return false, nil, nil })
	if err := c.Bind(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	revoked, err := c.Revoke(t.Context(), nil, func(context.Context) (func(access.User) bool, error) {
		early := !listed // it is not stored yet
		return func(u access.User) bool { return !early && u == late }, nil
	})
	if err != nil || len(revoked) > 0 {
		t.Errorf("revoked %q, %v", revoked, err)
	}
}

// TestHealthRolesAreRestored: wider rights that somebody gave to the role are taken back.
func TestHealthRolesAreRestored(t *testing.T) {
	all, leases := access.HealthRoles()
	wider, widerLeases := all.DeepCopy(), leases.DeepCopy()
	wider.Rules = append(wider.Rules, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}})
	widerLeases.Rules[0].Verbs = []string{"list", "delete"}
	kube := fake.NewClientset(wider, widerLeases)
	if err := New(kube, "edge-1").Bind(t.Context(), user(t, access.Health)); err != nil {
		t.Fatal(err)
	}
	role, err := kube.RbacV1().ClusterRoles().Get(t.Context(), access.HealthRole, metav1.GetOptions{})
	if diff := cmp.Diff(all.Rules, role.Rules); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	inLeases, err := kube.RbacV1().Roles(access.LeaseNamespace).Get(t.Context(), access.HealthRole, metav1.GetOptions{})
	if diff := cmp.Diff(leases.Rules, inLeases.Rules); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestVerify: a kubeconfig counts only if the cluster takes it as its user and gives it its rights.
func TestVerify(t *testing.T) {
	u := user(t, access.Health)
	for _, tc := range []struct {
		name, user string
		allow      func(asked int) bool
		says       string
		asked      int
	}{
		{"works", u.String(), func(int) bool { return true }, "", 3},
		{"the API server does not see the binding at once", u.String(), func(asked int) bool { return asked > 2 }, "", 5},
		{"somebody else", "system:anonymous", func(int) bool { return true }, `as that of "system:anonymous"`, 0},
		{"no rights", u.String(), func(int) bool { return false }, "does not give " + u.String() + " the rights of its binding " + u.Binding(), -1},
	} {
		kube, asked := fake.NewClientset(), 0
		kube.PrependReactor("create", "selfsubjectreviews", func(clientgotesting.Action) (bool, runtime.Object, error) {
			return true, &authentication.SelfSubjectReview{Status: authentication.SelfSubjectReviewStatus{UserInfo: authentication.UserInfo{Username: tc.user}}}, nil
		})
		kube.PrependReactor("create", "selfsubjectaccessreviews", func(clientgotesting.Action) (bool, runtime.Object, error) {
			asked++
			return true, &authorization.SelfSubjectAccessReview{Status: authorization.SubjectAccessReviewStatus{Allowed: tc.allow(asked)}}, nil
		})
		var err error
		synctest.Test(t, func(t *testing.T) { err = New(kube, "edge-1").Verify(t.Context(), u, time.Minute) })
		if tc.says == "" && err != nil || tc.says != "" && (!errors.Is(err, ErrUnhealthy) || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if tc.asked >= 0 && asked != tc.asked {
			t.Errorf("%s: asked for %d rights, want %d", tc.name, asked, tc.asked)
		}
	}
}

// TestSoftwareUser: a user of kind Software may drain nodes, and has no rights of an administrator.
func TestSoftwareUser(t *testing.T) {
	u := user(t, access.Software)
	kube := withoutRights()
	c := New(kube, "edge-1")
	for range 2 { // Bind can be repeated
		if err := c.Bind(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	role, err := kube.RbacV1().ClusterRoles().Get(t.Context(), access.SoftwareRoleName, metav1.GetOptions{})
	if diff := cmp.Diff(access.SoftwareRole().Rules, role.Rules); err != nil || diff != "" {
		t.Errorf("role (-want +got):\n%s, %v", diff, err)
	}
	b, err := kube.RbacV1().ClusterRoleBindings().Get(t.Context(), u.Binding(), metav1.GetOptions{})
	if err != nil || b.RoleRef.Name != access.SoftwareRoleName || b.Subjects[0].Name != u.String() {
		t.Errorf("binding %+v, %v", b, err)
	}
	if parsed, ok := access.ParseUser(u.String()); !ok || parsed != u {
		t.Errorf("%s is read as %+v", u, parsed)
	}
	revoked, err := c.RevokeKind(t.Context(), access.Software)
	if diff := cmp.Diff([]string{u.String()}, revoked); err != nil || diff != "" {
		t.Errorf("%v, revoked (-want +got):\n%s", err, diff)
	}
}
