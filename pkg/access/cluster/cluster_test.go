package cluster

import (
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
	kube := fake.NewClientset()
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
	foreign := access.AdminBinding("edge-1", old)
	foreign.Name = "mine"
	group := access.AdminBinding("edge-1", user(t, access.Admin))
	group.Subjects = []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "operators"}}
	for _, b := range []*rbacv1.ClusterRoleBinding{foreign, group} {
		if _, err := kube.RbacV1().ClusterRoleBindings().Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	revoked, err := c.Revoke(t.Context(), kept, health)
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
