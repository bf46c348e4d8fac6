package selecthosts

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

var ctx = context.Background()

// memory implements Inventory in memory. It fails if the test wants it to.
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

// host returns a host with 8 CPUs, 16Gi of memory and the address 10.0.0.n.
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

func site(meddle interceptor.Funcs, all ...client.Object) client.WithWatch {
	scheme := runtime.NewScheme()
	if err := metal3.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithInterceptorFuncs(meddle).Build()
}

func request() contract.Request {
	return contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: "site", UID: "p1", Slots: []contract.Slot{
		{Name: "master-1", Roles: []string{contract.RoleControlPlane}, MAC: "02:00:00:00:00:02"},
		{Name: "worker-1", Roles: []string{contract.RoleWorker}, Needs: contract.Needs{CPU: 8, Memory: 16 << 30}},
	}}}
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
	c, log := site(interceptor.Funcs{}, host(1), host(2), host(3)), &bytes.Buffer{}
	record, outcome := &memory{data: map[string]string{}}, &memory{data: map[string]string{}}
	var got Output
	for range 2 { // twice equals once
		log.Reset()
		var err error
		if got, err = Run(ctx, Input{Request: request()}, Ports{c, record, outcome, log}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff(Output{Hosts: "master-1=host-2 worker-1=host-1", Count: 2}, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	var nodes []contract.Node
	if err := json.Unmarshal([]byte(outcome.data[contract.KeyNodes]), &nodes); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(map[string]string{contract.KeyClaimed: outcome.data[contract.KeyNodes]}, record.data); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	want := []contract.Node{
		{Name: "master-1", Roles: []string{contract.RoleControlPlane}, Host: "host-2", HostUID: "u1", Address: "10.0.0.2", MACs: []string{"02:00:00:00:00:02"}},
		{Name: "worker-1", Roles: []string{contract.RoleWorker}, Host: "host-1", HostUID: "u1", Address: "10.0.0.1", MACs: []string{"02:00:00:00:00:01"}},
	}
	if diff := gocmp.Diff(want, nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	table := `Nodes that site/edge-1 asks for: 2
Claimed hosts: 2

  NODE      ROLES          NEEDS              HOST    CPUS  MEMORY  ADDRESS
  master-1  control-plane  02:00:00:00:00:02  host-2  8     16Gi    10.0.0.2
  worker-1  worker         8 CPUs, 16Gi       host-1  8     16Gi    10.0.0.1
`
	if diff := gocmp.Diff(table, log.String()); diff != "" {
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
		want   contract.Failure // its Message is a part of the expected message
	}{
		{"no host fits", interceptor.Funcs{}, []client.Object{host(2), host(3, failed)}, nil, contract.Failure{
			Reason: contract.ReasonHostsNotAvailable, Message: "worker-1 (8 CPUs, 16Gi): 2 hosts: 1 in error state, 1 pinned to other nodes",
		}},
		{"one address on two hosts", interceptor.Funcs{}, []client.Object{host(1), host(2, sameAddress)}, nil, contract.Failure{
			Reason: contract.ReasonHostsNotAvailable, Message: "host host-2 with the MAC address 02:00:00:00:00:02 is sharing its address with host-1",
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
			_, err := Run(ctx, Input{Request: request()}, Ports{c, &memory{map[string]string{}, tc.store}, &memory{map[string]string{}, tc.store}, &bytes.Buffer{}})
			if err == nil {
				t.Fatal("Run did not fail")
			}
			got := task.FailureOf(err)
			if !strings.Contains(got.Message, tc.want.Message) {
				t.Errorf("message %q does not contain %q", got.Message, tc.want.Message)
			}
			got.Message, tc.want.Message = "", ""
			if diff := gocmp.Diff(tc.want, got); diff != "" {
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
	_, err := Run(ctx, Input{Request: r}, Ports{site(interceptor.Funcs{}, host(1), host(2, held), host(3, failed)), &memory{}, &memory{}, log})
	if err == nil {
		t.Fatal("Run did not fail")
	}
	want := `Nodes that site/edge-1 asks for: 2

No host for master-1 (host host-2 with the MAC address 02:00:00:00:00:02 is held by Metal3Machine m-1):

  HOST    CPUS  MEMORY  ADDRESS   WHY NOT
  host-2  8     16Gi    10.0.0.2  held by Metal3Machine m-1

Other nodes without a host: worker-1
`
	if diff := gocmp.Diff(want, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func set(active, standby int, spread *contract.Spread) contract.Request {
	return contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: "site", UID: "p1", Sets: []contract.Set{{
		Name: "w", Roles: []string{contract.RoleWorker}, Active: active, Standby: standby, Needs: contract.Needs{CPU: 8}, Spread: spread,
	}}}}
}

func inRack(name string) func(*metal3.BareMetalHost) {
	return func(h *metal3.BareMetalHost) { h.Labels = map[string]string{"rack": name} }
}

func TestLogOfSets(t *testing.T) {
	log, racks := &bytes.Buffer{}, &contract.Spread{TopologyKey: "rack", MaxSkew: 1}
	c := site(interceptor.Funcs{}, host(1, inRack("r1")), host(2, inRack("r2")), host(3, inRack("r1")))
	out, err := Run(ctx, Input{Request: set(2, 1, racks)}, Ports{c, &memory{data: map[string]string{}}, &memory{data: map[string]string{}}, log})
	if err != nil || out.Count != 3 {
		t.Fatal(out, err)
	}
	want := `Nodes that site/edge-1 asks for: 3
Claimed hosts: 3

  NODE  ROLES   NEEDS   HOST    CPUS  MEMORY  ADDRESS   DOMAIN  STATE
  w-1   worker  8 CPUs  host-1  8     16Gi    10.0.0.1  r1      active
  w-2   worker  8 CPUs  host-2  8     16Gi    10.0.0.2  r2      active
  w-3   worker  8 CPUs  host-3  8     16Gi    10.0.0.3  r1      standby
`
	if diff := gocmp.Diff(want, log.String()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}

	log.Reset()
	r := set(4, 0, racks)
	r.Provisioning = "edge-2"
	c = site(interceptor.Funcs{}, host(1, inRack("r1")), host(2, inRack("r1")), host(3, inRack("r1")), host(4, inRack("r2")), host(5))
	if _, err := Run(ctx, Input{Request: r}, Ports{c, &memory{}, &memory{}, log}); err == nil {
		t.Fatal("four nodes got hosts")
	}
	for _, part := range []string{"The spread of set w prevents an assignment: maxSkew 1 allows at most 3 nodes.", "  RACK  HOSTS THAT FIT\n  r2    1\n  r1    3\n"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log does not show %q:\n%s", part, log)
		}
	}
}

// A lost host stays claimed, and the log tells the user what to do.
func TestLogOfKeptHosts(t *testing.T) {
	c, log := site(interceptor.Funcs{}, host(1), host(2)), &bytes.Buffer{}
	ports := Ports{c, &memory{data: map[string]string{}}, &memory{data: map[string]string{}}, log}
	if _, err := Run(ctx, Input{Request: set(1, 1, nil)}, ports); err != nil {
		t.Fatal(err)
	}
	h := &metal3.BareMetalHost{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "site", Name: "host-1"}, h); err != nil {
		t.Fatal(err)
	}
	h.Annotations = map[string]string{contract.AnnotationQuarantine: "burnt"}
	if err := c.Update(ctx, h); err != nil {
		t.Fatal(err)
	}
	r := set(1, 1, nil)
	r.Installed = []string{"host-1"}
	if _, err := Run(ctx, Input{Request: r}, ports); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"Missing standby hosts of set w: 1, because no more hosts fit", "Host host-1 stays claimed, although it is no longer a node (in quarantine (burnt))"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log does not show %q:\n%s", part, log)
		}
	}
}

func available(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateAvailable }

// imagesAndFails simulates the controller and Metal3. The controller assigns an image to every
// claimed host. Metal3 installs it at once, except on the hosts in failing.
func imagesAndFails(failing ...string) interceptor.Funcs {
	return interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			err := c.Patch(ctx, obj, p, opts...)
			h := obj.(*metal3.BareMetalHost)
			if err != nil || h.Spec.ConsumerRef == nil || h.Spec.Image != nil || h.Status.Provisioning.State != metal3.StateAvailable {
				return err
			}
			imaging.Put(h, jammy, h.Labels[contract.LabelNode])
			if slices.Contains(failing, h.Name) {
				h.Status.ErrorType, h.Status.ErrorMessage, h.Status.ErrorCount = metal3.PreparationError, "the disk does not answer", 3
			} else {
				h.Status.Provisioning.State, h.Status.Provisioning.Image = metal3.StateProvisioned, *h.Spec.Image
			}
			return c.Update(ctx, h)
		},
	}
}

var jammy = contract.OSImage{URL: "http://depot/jammy.qcow2"}

// imaged is a request for two nodes with an OS image.
func imaged() contract.Request {
	r := request()
	r.Slots[0].MAC, r.OSImage = "", &jammy
	return r
}

// claims describes the claimed hosts: the node of each host, or the reason of its release.
func claims(t *testing.T, c client.Client) map[string]string {
	t.Helper()
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, h := range list.Items {
		if h.Spec.ConsumerRef != nil {
			got[h.Name] = cmp.Or(h.Labels[contract.LabelNode], "release: "+h.Labels[contract.LabelRelease])
		}
		if h.Spec.ConsumerRef != nil && h.Spec.Image == nil {
			t.Errorf("%s has lost its image", h.Name)
		}
	}
	return got
}

// A host that does not receive its image is replaced alone. It stays held, because only the
// controller may record the failure and remove the image. The other host keeps its node, and the
// next run, which receives the recorded failure, changes nothing.
func TestFailingHostIsReplacedAlone(t *testing.T) {
	c, log := site(imagesAndFails("host-1"), host(1, available), host(2, available), host(3, available)), &bytes.Buffer{}
	want := map[string]string{"host-1": "release: image-failed", "host-2": "worker-1", "host-3": "master-1"}
	r := imaged()
	for range 2 { // twice equals once
		out, err := Run(ctx, Input{Request: r}, Ports{c, &memory{data: map[string]string{}}, &memory{data: map[string]string{}}, log})
		if err != nil || out.Hosts != "master-1=host-3 worker-1=host-2" {
			t.Fatalf("Run = %+v, %v\n%s", out, err, log)
		}
		if diff := gocmp.Diff(want, claims(t, c)); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
		r.PassedOver = []string{"host-1"}
	}
	const part = "Host host-1 is given up; another host is claimed for master-1."
	if n := strings.Count(log.String(), part); n != 1 {
		t.Errorf("the log has %d times %q:\n%s", n, part, log)
	}
}

// If no other host fits, the run fails and names the node and the reason. The good host keeps its
// claim and its image. The next run uses both as soon as another host is there.
func TestGoodHostsStayIfNoHostReplacesTheFailedOne(t *testing.T) {
	c, log := site(imagesAndFails("host-1"), host(1, available), host(2, available)), &bytes.Buffer{}
	r, ports := imaged(), Ports{c, &memory{data: map[string]string{}}, &memory{data: map[string]string{}}, log}
	_, err := Run(ctx, Input{Request: r}, ports)
	if err == nil {
		t.Fatal("Run did not fail")
	}
	got := task.FailureOf(err)
	if got.Reason != contract.ReasonHostProvisioningFailed || got.Host != "master-1" {
		t.Errorf("failure = %+v", got)
	}
	for _, part := range []string{"preparation error: the disk does not answer", "1 passed over because it failed before"} {
		if !strings.Contains(got.Message, part) {
			t.Errorf("message %q has no %q", got.Message, part)
		}
	}
	if diff := gocmp.Diff(map[string]string{"host-1": "release: image-failed", "host-2": "worker-1"}, claims(t, c)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	if err := c.Create(ctx, host(3, available)); err != nil {
		t.Fatal(err)
	}
	r.PassedOver = []string{"host-1"}
	out, err := Run(ctx, Input{Request: r}, ports)
	if err != nil || out.Hosts != "master-1=host-3 worker-1=host-2" {
		t.Errorf("the next Run = %+v, %v", out, err)
	}
}

// A task that is stopped, by SIGTERM or at the time limit of the run, releases no host that may
// have an image already. The next run continues with the same hosts.
func TestStoppedRunKeepsItsHosts(t *testing.T) {
	never := interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
		err := c.Patch(ctx, obj, p, opts...)
		if h := obj.(*metal3.BareMetalHost); err == nil && h.Spec.ConsumerRef != nil && h.Spec.Image == nil {
			imaging.Put(h, jammy, h.Labels[contract.LabelNode])
			h.Status.Provisioning.State = metal3.StateProvisioning
			return c.Update(ctx, h)
		}
		return err
	}}
	c := site(never, host(1, available), host(2, available), host(3, available))
	for range 2 {
		stopped, stop := context.WithTimeout(ctx, 200*time.Millisecond)
		_, err := Run(stopped, Input{Request: imaged()}, Ports{c, &memory{}, &memory{}, &bytes.Buffer{}})
		stop()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Run: %v; want a deadline", err)
		}
		if diff := gocmp.Diff(map[string]string{"host-1": "master-1", "host-2": "worker-1"}, claims(t, c)); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	}
}

// An error that the image causes does not pass over hosts, because others would fail too. The run
// fails, and gives up its hosts without the image, so that the next run can use a corrected image.
func TestErrorOfTheImagePassesOverNoHost(t *testing.T) {
	c := site(interceptor.Funcs{}, host(1, available), host(2, available), host(3, available))
	synctest.Test(t, func(t *testing.T) {
		go func() { // Metal3 fails twice on host-1
			for n := range 3 {
				time.Sleep(time.Minute) // synctest advances its clock
				h := &metal3.BareMetalHost{}
				if err := c.Get(ctx, client.ObjectKey{Namespace: "site", Name: "host-1"}, h); err != nil {
					t.Error(err)
				}
				imaging.Put(h, jammy, "master-1")
				h.Status.Provisioning.State, h.Status.ErrorType, h.Status.ErrorMessage = metal3.StateProvisioning, "", ""
				if n%2 == 0 {
					h.Status.ErrorType, h.Status.ErrorMessage = metal3.ProvisioningError, "Got HTTP code 404 instead of 200"
				}
				if err := c.Update(ctx, h); err != nil {
					t.Error(err)
				}
			}
		}()
		_, err := Run(t.Context(), Input{Request: imaged()}, Ports{c, &memory{}, &memory{}, &bytes.Buffer{}})
		if err == nil || !strings.Contains(err.Error(), "the image does not exist: upload it") {
			t.Errorf("Run: %v", err)
		}
		synctest.Wait()
	})
	// host-2 had no image yet, so the task itself released it.
	if diff := gocmp.Diff(map[string]string{"host-1": "release: true"}, claims(t, c)); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
}

// A run for an installed cluster does not wait until a new standby host has its operating system,
// and does not fail if that host fails. A lost worker is therefore replaced without delay.
func TestRunWaitsForNoStandbyOfARunningCluster(t *testing.T) {
	c := site(imagesAndFails("host-2"), host(1), host(2, available))
	ports := Ports{c, &memory{data: map[string]string{}}, &memory{data: map[string]string{}}, &bytes.Buffer{}}
	if _, err := Run(ctx, Input{Request: set(1, 0, nil)}, ports); err != nil {
		t.Fatal(err)
	}
	r := set(1, 1, nil)
	r.Installed, r.OSImage = []string{"host-1"}, &contract.OSImage{URL: "http://depot/jammy.qcow2"}
	out, err := Run(ctx, Input{Request: r}, ports)
	if err != nil || out.Count != 2 || countHeld(t, c) != 2 {
		t.Errorf("Run = %+v, %v, and %d hosts are held; want 2 nodes", out, err, countHeld(t, c))
	}
}

// A host that was created after the Role may need a Secret that the Role does not name. The failure
// is transient, because the Role of the next run names the Secret.
func TestRunIsTriedAgainWithoutTheRightToASecret(t *testing.T) {
	c := site(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, isHost := obj.(*metal3.BareMetalHost); isHost {
				return c.Get(ctx, key, obj, opts...)
			}
			return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, errors.New("no"))
		},
	}, host(1, available), host(2, available))
	r := request()
	r.OSImage = &contract.OSImage{URL: "http://depot/jammy.qcow2", UserData: "$(host)-user"}
	_, err := Run(ctx, Input{Request: r}, Ports{c, &memory{}, &memory{}, &bytes.Buffer{}})
	if err == nil {
		t.Fatal("Run did not fail")
	}
	if got := task.FailureOf(err); got.Reason != contract.ReasonAPIUnavailable || !strings.Contains(got.Message, "check Secret host-1-user") {
		t.Errorf("failure = %+v", got)
	}
}
