package selecthosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/outcome"
)

var ctx = context.Background()

// memory is an inventory that fails on demand.
type memory struct {
	data map[string]string
	err  error
}

func (m *memory) Set(_ context.Context, key, value string) error {
	if m.err == nil {
		m.data[key] = value
	}
	return m.err
}

// host has 8 CPUs, 16Gi and the address 10.0.0.n.
func host(n int, change ...func(*metal3.BareMetalHost)) client.Object {
	h := &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("host-%d", n), Namespace: "site", UID: "u1"},
		Status: metal3.BareMetalHostStatus{
			Provisioning: metal3.ProvisionStatus{State: metal3.StateExternallyProvisioned},
			HardwareDetails: &metal3.HardwareDetails{
				CPU: metal3.CPU{Count: 8}, RAMMebibytes: 16 << 10,
				NIC: []metal3.NIC{{Name: "eth0", MAC: fmt.Sprintf("02:00:00:00:00:%02x", n), IP: fmt.Sprintf("10.0.0.%d", n)}},
			},
		},
	}
	for _, f := range change {
		f(h)
	}
	return h
}

func held(h *metal3.BareMetalHost) {
	h.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Name: "m-1"}
}
func failed(h *metal3.BareMetalHost) { h.Status.ErrorMessage = "no power" }
func sameAddress(h *metal3.BareMetalHost) {
	h.Status.HardwareDetails.NIC[0].IP = "10.0.0.1"
}

func site(meddle interceptor.Funcs, all ...client.Object) client.Client {
	scheme := runtime.NewScheme()
	if err := metal3.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithInterceptorFuncs(meddle).Build()
}

func request() contract.Request {
	return contract.Request{Provisioning: "edge-1", Namespace: "site", UID: "p1", Slots: []contract.Slot{
		{Name: "master-1", Roles: []string{contract.RoleControlPlane}, MAC: "02:00:00:00:00:02"},
		{Name: "worker-1", Roles: []string{contract.RoleWorker}, CPU: 8, Memory: 16 << 30},
	}}
}

func countHeld(t *testing.T, c client.Client) int {
	t.Helper()
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, h := range list.Items {
		if h.Spec.ConsumerRef != nil && h.Spec.ConsumerRef.Name == "edge-1" {
			n++
		}
	}
	return n
}

func TestRun(t *testing.T) {
	c, inventory, log := site(interceptor.Funcs{}, host(1), host(2), host(3)), &memory{data: map[string]string{}}, &bytes.Buffer{}
	var got Output
	for range 2 { // twice equals once
		log.Reset()
		var err error
		if got, err = Run(ctx, Input{request()}, Ports{c, inventory, log}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(Output{Hosts: "master-1=host-2 worker-1=host-1", Count: 2}, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	var nodes []contract.Node
	if err := json.Unmarshal([]byte(inventory.data[contract.KeyNodes]), &nodes); err != nil {
		t.Fatal(err)
	}
	want := []contract.Node{
		{Name: "master-1", Roles: []string{contract.RoleControlPlane}, Host: "host-2", HostUID: "u1", Address: "10.0.0.2"},
		{Name: "worker-1", Roles: []string{contract.RoleWorker}, Host: "host-1", HostUID: "u1", Address: "10.0.0.1"},
	}
	if diff := cmp.Diff(want, nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	table := `Nodes that site/edge-1 asks for: 2
Hosts held for it: 2

  NODE      ROLES          NEEDS              HOST    CPUS  MEMORY  ADDRESS
  master-1  control-plane  02:00:00:00:00:02  host-2  8     16Gi    10.0.0.2
  worker-1  worker         8 CPUs, 16Gi       host-1  8     16Gi    10.0.0.1
`
	if diff := cmp.Diff(table, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestRunFails(t *testing.T) {
	forbidden := apierrors.NewForbidden(metal3.GroupVersion.WithResource("baremetalhosts").GroupResource(), "", errors.New("no"))
	listing := func(err error) interceptor.Funcs {
		return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if len(opts) == 0 { // the test's own
				return c.List(ctx, list, opts...)
			}
			return err
		}}
	}
	for _, tc := range []struct {
		name   string
		meddle interceptor.Funcs
		hosts  []client.Object
		store  error
		want   contract.Failure // its message: a part of it
	}{
		{"no host fits", interceptor.Funcs{}, []client.Object{host(2), host(3, failed)}, nil, contract.Failure{
			Reason: contract.ReasonHostsNotAvailable, Message: "worker-1 (8 CPUs, 16Gi): 2 hosts: 1 in error state, 1 needed for other nodes",
		}},
		{"one address on two hosts", interceptor.Funcs{}, []client.Object{host(1), host(2, sameAddress)}, nil, contract.Failure{
			Reason: contract.ReasonAddressMissing, Host: "worker-1", Message: "host host-1, chosen for worker-1, has the address 10.0.0.1",
		}},
		{"the API server is away", listing(apierrors.NewServiceUnavailable("starting")), nil, nil, contract.Failure{
			Reason: contract.ReasonAPIUnavailable, Message: "list the HardwareData of namespace site",
		}},
		{"a missing right", listing(forbidden), nil, nil, contract.Failure{Reason: contract.ReasonInternal, Message: "forbidden"}},
		{"the nodes cannot be stored", interceptor.Funcs{}, []client.Object{host(1), host(2)}, context.DeadlineExceeded, contract.Failure{
			Reason: contract.ReasonAPIUnavailable, Message: "deadline",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := site(tc.meddle, tc.hosts...)
			_, err := Run(ctx, Input{request()}, Ports{c, &memory{map[string]string{}, tc.store}, &bytes.Buffer{}})
			if err == nil {
				t.Fatal("Run did not fail")
			}
			got := outcome.FailureOf(err)
			if !strings.Contains(got.Message, tc.want.Message) {
				t.Errorf("message %q does not tell of %q", got.Message, tc.want.Message)
			}
			got.Message, tc.want.Message = "", ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
			if n := countHeld(t, c); n != 0 {
				t.Errorf("%d hosts are still held", n)
			}
		})
	}
}

func TestExplanation(t *testing.T) {
	log := &bytes.Buffer{}
	r := request()
	r.Slots[1].CPU = 16
	_, err := Run(ctx, Input{r}, Ports{site(interceptor.Funcs{}, host(1), host(2, held), host(3, failed)), &memory{}, log})
	if err == nil {
		t.Fatal("Run did not fail")
	}
	want := `Nodes that site/edge-1 asks for: 2

No host for master-1 (host host-2 with the MAC address 02:00:00:00:00:02 is held by Metal3Machine m-1):

  HOST    CPUS  MEMORY  ADDRESS   WHY NOT
  host-2  8     16Gi    10.0.0.2  held by Metal3Machine m-1

No host for worker-1 (16 CPUs, 16Gi):

  HOST    CPUS  MEMORY  ADDRESS   WHY NOT
  host-1  8     16Gi    10.0.0.1  below 16 CPUs
  host-2  8     16Gi    10.0.0.2  held by Metal3Machine m-1
  host-3  8     16Gi    10.0.0.3  in error state
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
