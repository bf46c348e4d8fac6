//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
)

const claims = "claims" // namespace of this file's hosts

// TestClaimsAreExclusive lets four Provisionings claim from five hosts at once, at a real API
// server and with the permissions of the task select-hosts in config/. Meanwhile the status of the
// hosts changes, as Metal3 changes it. The test checks that no two Provisionings share a host, that
// each gets all its hosts or none, that at least one gets its hosts, and that released hosts can be
// claimed again.
func TestClaimsAreExclusive(t *testing.T) {
	admin := hostClient(t, "")
	prepareHosts(t, admin)
	for round := range 3 {
		quiet, stop := context.WithCancel(t.Context())
		var metal3Writes sync.WaitGroup
		metal3Writes.Go(func() { writeStatus(quiet, admin) })
		sizes, failed := claimConcurrently(t)
		stop()
		metal3Writes.Wait()
		checkHolders(t, admin, round, sizes, failed)
		for i := range sizes {
			if _, _, err := claim.ReleaseAll(t.Context(), hostClient(t, name(i)), owner(i)); err != nil {
				t.Fatal(err)
			}
		}
		if left := held(t, admin); len(left) > 0 {
			t.Fatalf("round %d: hosts are still held after the release: %v", round, left)
		}
	}
}

func name(i int) string       { return fmt.Sprintf("edge-%d", i) }
func owner(i int) hosts.Owner { return hosts.Owner{Namespace: claims, Name: name(i)} }
func hostName(n int) string   { return fmt.Sprintf("host-%d", n) }
func hostMAC(n int) string    { return fmt.Sprintf("02:00:00:00:00:%02x", n) }

// hostClient returns a client that acts as the account of a Provisioning's task select-hosts, or as
// the administrator if provisioning is empty.
func hostClient(t *testing.T, provisioning string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", shared.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.Timeout, config.QPS = callLimit, -1 // no rate limit
	if provisioning != "" {
		config.Impersonate.UserName = "system:serviceaccount:" + claims + ":" + contract.ServiceAccountName(provisioning, contract.TaskSelectHosts)
		config.Impersonate.Groups = []string{"system:authenticated"}
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metal3.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// prepareHosts creates five hosts that fit, and gives four Provisionings the permission to claim
// them.
func prepareHosts(t *testing.T, admin client.Client) {
	t.Helper()
	for _, args := range [][]string{
		{"apply", "--server-side", "-f", "../../bootstrap/manifests/metal3-crds.yaml"},
		{"wait", "--for=condition=Established", "--timeout=30s", "crd/baremetalhosts.metal3.io", "crd/hardwaredata.metal3.io"},
		{"apply", "-f", "../../config/200-task-select-hosts.yaml"},
		{"create", "namespace", claims},
	} {
		if out, err := shared.run(t.Context(), nil, args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "select-hosts", Namespace: claims},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "bpa-select-hosts"},
	}
	for i := range 4 {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{
			Kind: rbacv1.ServiceAccountKind, Namespace: claims, Name: contract.ServiceAccountName(name(i), contract.TaskSelectHosts),
		})
	}
	if err := admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: hostName(n), Namespace: claims}, Spec: metal3.BareMetalHostSpec{BootMACAddress: hostMAC(n)}}
		if err := admin.Create(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		h.Status.Provisioning.State = metal3.StateExternallyProvisioned
		h.Status.HardwareDetails = &metal3.HardwareDetails{
			CPU: metal3.CPU{Count: 8}, RAMMebibytes: 16 << 10, NIC: []metal3.NIC{{Name: "eth0", MAC: hostMAC(n), IP: fmt.Sprintf("10.0.0.%d", n+1)}},
		}
		if err := admin.Status().Update(t.Context(), h); err != nil {
			t.Fatal(err)
		}
	}
}

// writeStatus changes status fields that do not affect a claim, until ctx ends.
func writeStatus(ctx context.Context, admin client.Client) {
	for n := 0; ctx.Err() == nil; n++ {
		h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: hostName(n % 5), Namespace: claims}}
		patch := fmt.Appendf(nil, `{"status":{"lastUpdated":%q,"errorCount":%d}}`, time.Now().UTC().Format(time.RFC3339), n)
		_ = admin.Status().Patch(ctx, h, client.RawPatch("application/merge-patch+json", patch)) // errors are ignored, because the writes are only load
	}
}

// claimConcurrently lets four Provisionings claim one to four hosts at once. Each Provisioning pins
// one host, so that the Provisionings need different sets of hosts. It returns the number of hosts
// that each requests, and the error of each claim.
func claimConcurrently(t *testing.T) (sizes []int, failed []error) {
	t.Helper()
	sizes, failed = []int{1, 2, 3, 4}, make([]error, 4)
	var all sync.WaitGroup
	for i, size := range sizes {
		request := contract.Request{Spec: contract.Spec{Provisioning: name(i), Namespace: claims, UID: name(i)}}
		for n := range size {
			request.Slots = append(request.Slots, contract.Slot{Name: fmt.Sprintf("n%d", n), Roles: []string{contract.RoleWorker}, Needs: contract.Needs{CPU: 8}})
		}
		request.Slots[0].MAC = hostMAC((i * 2) % 5)
		c := hostClient(t, name(i))
		all.Go(func() { _, failed[i] = claim.Make(t.Context(), c, request) })
	}
	all.Wait()
	return sizes, failed
}

// held returns the number of hosts by holder.
func held(t *testing.T, admin client.Client) map[string]int {
	t.Helper()
	var list metal3.BareMetalHostList
	if err := admin.List(t.Context(), &list, client.InNamespace(claims)); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, h := range list.Items {
		if h.Spec.ConsumerRef != nil {
			count[h.Spec.ConsumerRef.Name]++
		}
	}
	return count
}

// checkHolders checks that exactly the Provisionings whose claim succeeded hold hosts, and that
// each of them holds as many hosts as it claimed.
func checkHolders(t *testing.T, admin client.Client, round int, sizes []int, failed []error) {
	t.Helper()
	want := map[string]int{}
	for i, size := range sizes {
		var nofit *assign.NoFit
		if failed[i] == nil {
			want[name(i)] = size
		} else if !errors.As(failed[i], &nofit) && !errors.Is(failed[i], claim.ErrContested) {
			t.Errorf("round %d: %s: %v", round, name(i), failed[i])
		}
	}
	if len(want) == 0 {
		t.Errorf("round %d: no claim succeeded: %v", round, failed)
	}
	if diff := cmp.Diff(want, held(t, admin)); diff != "" {
		t.Errorf("round %d: hosts per holder (-claimed +held):\n%s", round, diff)
	}
}
