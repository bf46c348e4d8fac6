package fleet

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// newFleet returns a Fleet on a fake cluster whose pods are ready at once. It also returns the
// public keys that the Fleet used for SSH, by address.
func newFleet(t *testing.T) (*Fleet, map[string]ssh.PublicKey) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, metal3.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	booted := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&metal3.BareMetalHost{}).
		WithIndex(&corev1.Pod{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
		WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if pod, ok := o.(*corev1.Pod); ok {
				booted++
				pod.Status.PodIP = fmt.Sprintf("10.60.0.%d", booted)
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			return c.Create(ctx, o, opts...)
		}}).Build()
	keys := map[string]ssh.PublicKey{}
	f := &Fleet{Client: c, Namespace: "edge", Image: "lab/node:1", Nameserver: "10.60.0.1", Log: io.Discard}
	f.readMAC = func(_ context.Context, ip string, signer ssh.Signer) (string, error) {
		keys[ip] = signer.PublicKey()
		return "aa:00:00:00:00:0" + ip[len(ip)-1:], nil
	}
	return f, keys
}

func TestUpWritesTheHostOfARunningMachine(t *testing.T) {
	f, keys := newFleet(t)
	shape := Shape{Name: "host-1", CPU: 8, RAMGiB: 16}
	if err := f.Up(t.Context(), shape); err != nil {
		t.Fatal(err)
	}
	host := getHost(t, f, "host-1")
	hw := host.Status.HardwareDetails
	got := map[string]any{
		"state": host.Status.Provisioning.State, "operational": host.Status.OperationalStatus, "boot MAC": host.Spec.BootMACAddress,
		"MAC": hw.NIC[0].MAC, "IP": hw.NIC[0].IP, "CPUs": hw.CPU.Count, "MiB": hw.RAMMebibytes, "hostname": hw.Hostname,
	}
	want := map[string]any{
		"state": metal3.StateProvisioned, "operational": metal3.OperationalStatusOK, "boot MAC": "aa:00:00:00:00:01",
		"MAC": "aa:00:00:00:00:01", "IP": "10.60.0.1", "CPUs": 8, "MiB": 16384, "hostname": "host-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("BareMetalHost (-want +got):\n%s", diff)
	}
	var data metal3.HardwareData
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: "edge", Name: "host-1"}, &data); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(hw, data.Spec.HardwareDetails); diff != "" {
		t.Errorf("HardwareData differs from status.hardware (-status +data):\n%s", diff)
	}
	wantAuthorized(t, f, keys["10.60.0.1"])
}

// wantAuthorized checks that machines accept used, which is the public key that belongs to the
// product's private key.
func wantAuthorized(t *testing.T, f *Fleet, used ssh.PublicKey) {
	t.Helper()
	var accepted corev1.ConfigMap
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: PodNamespace, Name: keyConfigName("edge")}, &accepted); err != nil {
		t.Fatal(err)
	}
	if want := string(ssh.MarshalAuthorizedKey(used)); accepted.Data[authorizedKeys] != want {
		t.Errorf("machines accept %q, but the Secret contains the private key for %q", accepted.Data[authorizedKeys], want)
	}
}

func TestUpTwiceChangesNothing(t *testing.T) {
	f, _ := newFleet(t)
	for range 2 {
		if err := f.Up(t.Context(), Shapes(1, 0)...); err != nil {
			t.Fatal(err)
		}
	}
	if ip := getHost(t, f, "host-1").Status.HardwareDetails.NIC[0].IP; ip != "10.60.0.1" {
		t.Errorf("the second call created another machine: %s", ip)
	}
}

func TestResetKeepsShapesAndChangesMachines(t *testing.T) {
	f, _ := newFleet(t)
	if err := f.Up(t.Context(), Shape{Name: "big", CPU: 64, RAMGiB: 512, Broken: true}); err != nil {
		t.Fatal(err)
	}
	if err := f.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := getHost(t, f, "big")
	hw := after.Status.HardwareDetails
	if hw.CPU.Count != 64 || hw.RAMMebibytes != 512*1024 || after.Status.OperationalStatus != metal3.OperationalStatusError {
		t.Errorf("the shape changed: %+v", after.Status)
	}
	if hw.NIC[0].IP != "10.60.0.2" {
		t.Errorf("the machine was not recreated: it still has address %s", hw.NIC[0].IP)
	}
}

func TestDownLeavesOtherNamespacesAlone(t *testing.T) {
	f, _ := newFleet(t)
	other := *f
	other.Namespace = "site-2"
	for _, fleet := range []*Fleet{f, &other} {
		if err := fleet.Up(t.Context(), Shapes(2, 1)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	mine, err := f.Names(t.Context())
	if err != nil || len(mine) != 0 {
		t.Errorf("machines left: %v %v", mine, err)
	}
	if _, err := f.Key(t.Context()); err == nil {
		t.Error("the SSH key still exists")
	}
	theirs, err := other.Names(t.Context())
	if diff := cmp.Diff([]string{"host-1", "host-2", "misfit-1"}, theirs); diff != "" || err != nil {
		t.Errorf("other namespace: %v (-want +got):\n%s", err, diff)
	}
}

// Every machine named host-... must fit a request for 8 CPUs and 16 GiB. No machine named
// misfit-... may fit it.
func TestShapes(t *testing.T) {
	for _, s := range Shapes(5, 4) {
		fits := s.CPU >= 8 && s.RAMGiB >= 16 && !s.Broken
		if want := strings.HasPrefix(s.Name, "host-"); fits != want {
			t.Errorf("%+v: fits = %v", s, fits)
		}
	}
}

func getHost(t *testing.T, f *Fleet, name string) *metal3.BareMetalHost {
	t.Helper()
	var host metal3.BareMetalHost
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: name}, &host); err != nil {
		t.Fatal(err)
	}
	return &host
}
