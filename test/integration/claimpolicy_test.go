//go:build integration

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

const (
	edited = "edited" // namespace of this file's hosts
	editor = "editor" // a user who may edit the namespace
)

// TestEditorsCannotReachHosts checks the limits of a user who may edit a namespace, and can
// therefore act as the service accounts in it. During a run, the account of select-hosts may change
// hosts. With this account, the user can only do what the task does: claim and release hosts for
// this one Provisioning.
func TestEditorsCannotReachHosts(t *testing.T) {
	admin, err := accountClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	prepareEdited(t, admin)
	account := tokenClient(t, contract.ServiceAccountName("edge-1", contract.TaskSelectHosts))
	before := hostsOf(t, admin)
	for _, try := range attempts {
		t.Run(try.name, func(t *testing.T) {
			err := patchHost(t.Context(), account, try.host, try.patch)
			if err == nil {
				t.Fatalf("the patch was accepted, want it forbidden with %q", try.want)
			}
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), try.want) {
				t.Errorf("%v; want it forbidden with %q", err, try.want)
			}
		})
	}
	if diff := cmp.Diff(before, hostsOf(t, admin)); diff != "" {
		t.Errorf("hosts were changed (-before +after):\n%s", diff)
	}
	t.Run("other verbs", func(t *testing.T) {
		host := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: edited}}
		status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"poweredOn":true}}`))
		for what, err := range map[string]error{
			"delete": account.Delete(t.Context(), host.DeepCopy()),
			"create": account.Create(t.Context(), &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: edited}}),
			"status": account.Status().Patch(t.Context(), host.DeepCopy(), status),
		} {
			if !apierrors.IsForbidden(err) {
				t.Errorf("%s: %v; want it forbidden", what, err)
			}
		}
	})
	t.Run("the task itself", func(t *testing.T) { claimAndRelease(t, account) })
	t.Run("after the run", func(t *testing.T) {
		must(t, "", "delete", "rolebinding", resources.HostsBindingName("edge-1"), "-n", edited)
		within(t, 10*time.Second, "the permission has ended", func() bool {
			return apierrors.IsForbidden(patchHost(t.Context(), account, "mine", `{"spec":{"consumerRef":null}}`))
		})
	})
}

const refOf = `{"apiVersion":%q,"kind":%q,"namespace":%q,"name":%q}`

func ref(namespace, name string) string {
	return fmt.Sprintf(refOf, "bpa.akraino.org/v1alpha1", "Provisioning", namespace, name)
}

// attempts are patches of four hosts: mine and imaged (held by edge-1), other (held by edge-2) and
// free. Each patch must be forbidden with a message that contains want.
var attempts = []struct{ name, host, patch, want string }{
	{"BMC address", "mine", `{"spec":{"bmc":{"address":"redfish://10.66.6.6/1"}}}`, "only change consumerRef in spec: BMC, image and power"},
	{"BMC address together with a claim", "free", `{"spec":{"bmc":{"address":"redfish://10.66.6.6/1"},"consumerRef":` + ref(edited, "edge-1") + `}}`, "only change consumerRef in spec"},
	{"BMC certificate", "mine", `{"spec":{"bmc":{"disableCertificateVerification":true}}}`, "only change consumerRef in spec"},
	{"image", "mine", `{"spec":{"image":{"url":"http://10.66.6.6/i","checksum":"a"}}}`, "only change consumerRef in spec"},
	{"image together with a claim", "free", `{"spec":{"image":{"url":"http://10.66.6.6/i","checksum":"a"},"consumerRef":` + ref(edited, "edge-1") + `}}`, "only change consumerRef in spec"},
	{"removal of the image", "imaged", `{"spec":{"image":null}}`, "only change consumerRef in spec"},
	{"user data", "mine", `{"spec":{"userData":{"name":"mine"}}}`, "only change consumerRef in spec"},
	{"power", "mine", `{"spec":{"online":true}}`, "only change consumerRef in spec"},
	{"cleaning", "mine", `{"spec":{"automatedCleaningMode":"disabled"}}`, "only change consumerRef in spec"},
	{"detachment from its BMC", "mine", `{"spec":{"externallyProvisioned":true}}`, "only change consumerRef in spec"},
	{"another's host", "other", `{"spec":{"consumerRef":` + ref(edited, "edge-1") + `}}`, "its own Provisioning (edge-1)"},
	{"release of another's host", "other", `{"spec":{"consumerRef":null}}`, "its own Provisioning (edge-1)"},
	{"labels of another's host", "other", `{"metadata":{"labels":{"bpa.akraino.org/release":"true"}}}`, "its own Provisioning (edge-1)"},
	{"BMC address of another's host", "other", `{"spec":{"bmc":{"address":"redfish://10.66.6.6/1"}}}`, "its own Provisioning (edge-1)"},
	{"a claim for another Provisioning", "free", `{"spec":{"consumerRef":` + ref(edited, "edge-2") + `}}`, "its own Provisioning (edge-1)"},
	{"a claim for the same name in another namespace", "free", `{"spec":{"consumerRef":` + ref("elsewhere", "edge-1") + `}}`, "its own Provisioning (edge-1)"},
	{"a claim for another kind", "free", `{"spec":{"consumerRef":` + fmt.Sprintf(refOf, "example.org/v1", "Provisioning", edited, "edge-1") + `}}`, "its own Provisioning (edge-1)"},
	{"a claim with an empty holder", "free", `{"spec":{"consumerRef":{}}}`, "its own Provisioning (edge-1)"},
	{"a transfer to another Provisioning", "mine", `{"spec":{"consumerRef":{"name":"edge-2"}}}`, "its own Provisioning (edge-1)"},
	{"labels of a free host", "free", `{"metadata":{"labels":{"bpa.akraino.org/node":"n"}}}`, "its own Provisioning (edge-1)"},
	{"foreign label", "mine", `{"metadata":{"labels":{"rack":"r9"}}}`, "only change the labels of a claim"},
	{"new foreign label", "mine", `{"metadata":{"labels":{"site":"s"}}}`, "only change the labels of a claim"},
	{"removal of a foreign label", "mine", `{"metadata":{"labels":{"rack":null}}}`, "only change the labels of a claim"},
	{"label that describes hardware", "mine", `{"metadata":{"labels":{"bpa.akraino.org/sriov":"true"}}}`, "only change the labels of a claim"},
	{"reboot", "mine", `{"metadata":{"annotations":{"reboot.metal3.io":""}}}`, "not change annotations"},
	{"annotation with the image to restore", "mine", `{"metadata":{"annotations":{"bpa.akraino.org/os-image-before":"{}"}}}`, "not change annotations"},
	{"end of a quarantine", "mine", `{"metadata":{"annotations":{"bpa.akraino.org/quarantine":null}}}`, "not change annotations"},
	{"finalizers", "mine", `{"metadata":{"finalizers":null}}`, "not change finalizers or owner references"},
	{"owner", "mine", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"1"}]}}`, "not change finalizers or owner references"},
}

// prepareEdited creates the namespace in the state that it has during a run of edge-1, with an
// editor and four hosts.
func prepareEdited(t *testing.T, admin client.Client) {
	t.Helper()
	must(t, "", "apply", "--server-side", "-f", metal3Kinds)
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/baremetalhosts.metal3.io", "crd/hardwaredata.metal3.io")
	for _, file := range []string{"200-task-select-hosts", "200-controller", "201-people"} {
		must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/"+file+".yaml")
	}
	must(t, "", "create", "namespace", edited)
	// The roles are bound one by one, because there is no controller manager that would aggregate
	// them into "edit".
	for _, role := range []string{"system:aggregate-to-edit", "system:aggregate-to-view", "bpa-edit", "bpa-view"} {
		must(t, "", "create", "rolebinding", strings.ReplaceAll(role, ":", "-"), "-n", edited, "--clusterrole="+role, "--user="+editor)
	}
	account := contract.ServiceAccountName("edge-1", contract.TaskSelectHosts)
	must(t, "", "create", "serviceaccount", account, "-n", edited)
	must(t, "", "create", "rolebinding", resources.HostsBindingName("edge-1"), "-n", edited, "--clusterrole="+resources.ClusterRoleSelectHosts, "--serviceaccount="+edited+":"+account)
	for n, name := range []string{"mine", "other", "free", "imaged"} {
		h := &metal3.BareMetalHost{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: edited, Labels: map[string]string{"rack": "r1"}, Finalizers: []string{"test.example.org/stay"},
				Annotations: map[string]string{contract.AnnotationQuarantine: "a test"},
			},
			Spec: metal3.BareMetalHostSpec{
				BMC: metal3.BMCDetails{Address: fmt.Sprintf("redfish://10.9.2.%d/1", n), CredentialsName: "bmc"}, BootMACAddress: fmt.Sprintf("02:00:00:00:02:%02x", n),
			},
		}
		holder := map[string]string{"mine": "edge-1", "other": "edge-2", "imaged": "edge-1"}[name]
		if holder != "" {
			h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Namespace: edited, Name: holder}
		}
		if name == "imaged" {
			h.Spec.Image = &metal3.Image{URL: "http://depot.test/i", Checksum: "a"}
		}
		if err := admin.Create(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // without hosts, so that other tests can delete the CRDs
		ctx := context.WithoutCancel(t.Context())
		var list metal3.BareMetalHostList
		_ = admin.List(ctx, &list, client.InNamespace(edited))
		for i := range list.Items {
			_ = admin.Patch(ctx, &list.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
		}
		_ = admin.DeleteAllOf(ctx, &metal3.BareMetalHost{}, client.InNamespace(edited))
	})
}

// tokenClient returns a client with a token of a service account. The editor requests the token.
func tokenClient(t *testing.T, account string) client.WithWatch {
	t.Helper()
	token := strings.TrimSpace(must(t, "", "create", "token", account, "-n", edited, "--as="+editor))
	config, scheme, err := accountConfig(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken, config.QPS = token, -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func patchHost(ctx context.Context, c client.Client, name, patch string) error {
	h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: edited}}
	return c.Patch(ctx, h, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func hostsOf(t *testing.T, c client.Client) []metal3.BareMetalHost {
	t.Helper()
	var list metal3.BareMetalHostList
	if err := c.List(t.Context(), &list, client.InNamespace(edited)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// claimAndRelease checks, with the accounts of select-hosts and the controller, that the task can
// claim and release hosts, and that the controller can set images and release hosts. The task
// cannot set an image.
func claimAndRelease(t *testing.T, account client.WithWatch) {
	ctx := t.Context()
	admin, err := accountClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	controller := actAs(t, "system:serviceaccount:bpa-system:bpa-controller")
	for n := range 2 {
		enroll(t, ctx, admin, edited, n+1, fmt.Sprintf("bare-%d", n+1), fmt.Sprintf("02:00:00:00:03:%02x", n+1), fmt.Sprintf("redfish://10.9.3.%d/1", n+1))
		available := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("bare-%d", n+1), Namespace: edited}}
		if err := admin.Status().Patch(ctx, available, client.RawPatch(types.MergePatchType, []byte(`{"status":{"errorCount":0,"errorMessage":"","operationalStatus":"OK","poweredOn":false,"provisioning":{"state":"available","ID":"","image":{"url":""}}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	image := contract.OSImage{URL: "http://depot.test/i", Checksum: strings.Repeat("a", 64), ChecksumType: "sha256"}
	request := contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: edited, UID: "edge-1", OSImage: &image, Slots: []contract.Slot{
		{Name: "w-1", Roles: []string{contract.RoleWorker}, MAC: "02:00:00:00:03:01"}, {Name: "w-2", Roles: []string{contract.RoleWorker}, MAC: "02:00:00:00:03:02"},
	}}}
	owner, nodes := hosts.OwnerOf(request), map[string]string{"bare-1": "w-1"}
	claimed, err := claim.Make(ctx, account, request)
	if err != nil {
		t.Fatal(err)
	}
	if given, err := claim.Image(ctx, account, owner, image, nodes); !apierrors.IsForbidden(err) {
		t.Errorf("the task sets an image: %v, %v; want it forbidden", given, err)
	}
	if given, err := claim.Image(ctx, controller, owner, image, nodes); err != nil || len(given) != 1 {
		t.Fatalf("the controller sets an image: %v, %v; want one host", given, err)
	}
	if err := claimed.Undo(ctx); err != nil { // bare-1 keeps its claim, because it has an image
		t.Fatal(err)
	}
	if err := claimed.GiveUp(ctx, []string{"bare-1"}); err != nil {
		t.Fatal(err)
	}
	if released, err := claim.ReleaseGivenUp(ctx, controller, owner, []string{"bare-1", "bare-2"}); err != nil || len(released) != 1 {
		t.Fatalf("the controller releases %v, %v; want only bare-1, because bare-2 is free already", released, err)
	}
	for _, h := range hostsOf(t, admin) {
		if strings.HasPrefix(h.Name, "bare-") && (h.Spec.ConsumerRef != nil || h.Spec.Image != nil || len(h.Labels) > 0 || h.Spec.Online) {
			t.Errorf("%s is not completely released: %+v, labels %v", h.Name, h.Spec, h.Labels)
		}
	}
}

// actAs returns a client that impersonates a user.
func actAs(t *testing.T, user string) client.Client {
	t.Helper()
	config, scheme, err := accountConfig(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate.UserName, config.Impersonate.Groups = user, []string{"system:authenticated"}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
