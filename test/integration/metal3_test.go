//go:build integration

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const (
	metal3Namespace = "metal3" // namespace of this file's hosts
	metal3Limit     = 4 * time.Minute
	// failingHost is the name of a host that Metal3 in demo mode fails to provision.
	failingHost = "demo-validation-error"
)

// TestMetal3PutsOperatingSystemsOnHosts runs the real Metal3 in demo mode, which simulates Ironic.
// Available hosts are claimed, get their image and become provisioned. After a release, Metal3
// deprovisions them, and they are available again. If Metal3 fails to provision one of two hosts and
// no other host fits, the task fails with Metal3's message. That host is released, and the other
// one keeps its image.
func TestMetal3PutsOperatingSystemsOnHosts(t *testing.T) {
	metal3Program := buildMetal3(t)
	ctx, stop := context.WithTimeout(t.Context(), metal3Limit)
	defer stop()
	c, err := accountClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	must(t, "", "create", "namespace", metal3Namespace)
	startMetal3(t, ctx, metal3Program, metal3Namespace, nil, "-demo-mode")
	t.Cleanup(func() {
		// Metal3 still runs at this time, so it can deprovision the hosts and remove its
		// finalizers.
		_, _ = shared.run(context.WithoutCancel(ctx), nil, "delete", "baremetalhosts", "--all", "-n", metal3Namespace, "--timeout=25s")
	})
	names := []string{"host-1", "host-2", failingHost}
	for n, name := range names {
		enroll(t, ctx, c, metal3Namespace, n+1, name, metal3MAC(n+1), fmt.Sprintf("redfish://10.9.1.%d/redfish/v1/Systems/1", n+1))
	}
	awaitHosts(t, ctx, c, metal3Namespace, names, metal3.StateAvailable)
	must(t, "", "create", "secret", "generic", "worker-1-user", "-n", metal3Namespace, "--from-literal=userData=#cloud-config\n# canary-of-user-data-1")
	must(t, "", "create", "secret", "generic", "worker-2-user", "-n", metal3Namespace, "--from-literal=userData=#cloud-config")

	request := contract.Request{
		Spec: contract.Spec{
			Provisioning: "edge-1", Namespace: metal3Namespace, UID: "edge-1",
			OSImage: &contract.OSImage{URL: "http://depot.test/jammy.qcow2", Checksum: strings.Repeat("a", 64), ChecksumType: "sha256", Format: "qcow2", UserData: "$(node)-user"},
			Slots: []contract.Slot{
				{Name: "worker-1", Roles: []string{contract.RoleWorker}, MAC: metal3MAC(1)}, {Name: "worker-2", Roles: []string{contract.RoleWorker}, MAC: metal3MAC(2)},
			},
		},
	}
	out, log, err := selectHosts(t, ctx, c, request)
	if err != nil || out.Hosts != "worker-1=host-1 worker-2=host-2" {
		t.Fatalf("%+v, %v\n%s", out, err, log)
	}
	if !strings.Contains(log, "host-1: provisioned\n") {
		t.Errorf("the log does not report that host-1 is provisioned:\n%s", log)
	}
	awaitHosts(t, ctx, c, metal3Namespace, names[:2], metal3.StateProvisioned)
	if diff := cmp.Diff([]string{"Secret " + metal3Namespace + "/worker-1-user.data.userData"}, findEverywhere(t, "canary-of-user-data-1")); diff != "" || strings.Contains(log, "canary-of-user-data") {
		t.Errorf("places with user data of a host (-want +got):\n%s\n%s", diff, log)
	}

	// A release is complete when Metal3 has deprovisioned the hosts. Until then, they stay claimed.
	if released, leaving, err := claim.ReleaseAll(ctx, c, hosts.OwnerOf(request)); err != nil || len(released) > 0 || len(leaving) != 2 {
		t.Fatalf("released %v, leaving %v, %v; want both leaving", released, leaving, err)
	}
	awaitHosts(t, ctx, c, metal3Namespace, names[:2], metal3.StateAvailable)
	if released, leaving, err := claim.ReleaseAll(ctx, c, hosts.OwnerOf(request)); err != nil || len(released) != 2 || len(leaving) > 0 {
		t.Fatalf("released %v, leaving %v, %v; want both released", released, leaving, err)
	}

	request.Slots[1].MAC = metal3MAC(3)
	_, log, err = selectHosts(t, ctx, c, request)
	if err == nil {
		t.Fatalf("the task succeeded although Metal3 cannot provision %s:\n%s", failingHost, log)
	}
	want := contract.Failure{Reason: contract.ReasonHostProvisioningFailed, Host: "worker-2",
		Message: "host demo-validation-error, claimed for worker-2, does not get its operating system: provisioning error: validation failed"}
	if got := task.FailureOf(err); !strings.HasPrefix(got.Message, want.Message) || got.Reason != want.Reason || got.Host != want.Host {
		t.Errorf("failure %+v; want %+v", got, want)
	}
	awaitHosts(t, ctx, c, metal3Namespace, names[:1], metal3.StateProvisioned) // the good host keeps its image
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list, client.InNamespace(metal3Namespace)); err != nil {
		t.Fatal(err)
	}
	for _, h := range list.Items {
		switch free := h.Spec.ConsumerRef == nil && h.Spec.Image == nil && h.Spec.UserData == nil && len(h.Labels) == 0; {
		case h.Name == "host-1" && (h.Spec.ConsumerRef == nil || h.Labels[contract.LabelNode] != "worker-1"):
			t.Errorf("%s lost its claim: %+v, labels %v", h.Name, h.Spec, h.Labels)
		case h.Name != "host-1" && !free:
			t.Errorf("%s is not completely released: %+v, labels %v", h.Name, h.Spec, h.Labels)
		}
	}
}

func metal3MAC(n int) string { return fmt.Sprintf("02:00:00:00:01:%02x", n) }

const metal3Module = "github.com/metal3-io/baremetal-operator"

// buildMetal3 builds Metal3's operator. A test calls it before its own time limit begins, because a machine
// without a build cache needs minutes.
func buildMetal3(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(shared.dir, "metal3")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, metal3Module)
	build.Dir = "../metal3"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build Metal3: %v\n%s", err, out)
	}
	return program
}

// startMetal3 runs Metal3's operator for one namespace. When the test ends, it
// deletes all Metal3 objects in the namespace, so that the CRDs can be deleted.
func startMetal3(t *testing.T, ctx context.Context, program, namespace string, env []string, args ...string) {
	t.Helper()
	where := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", metal3Module)
	where.Dir = "../metal3"
	dir, err := where.Output()
	if err != nil {
		t.Fatal(err)
	}
	must(t, "", "apply", "--server-side", "--force-conflicts", "-f", filepath.Join(strings.TrimSpace(string(dir)), "config", "base", "crds", "bases"))
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/baremetalhosts.metal3.io", "crd/hardwaredata.metal3.io", "crd/hostfirmwaresettings.metal3.io")

	log, err := os.Create(filepath.Join(shared.dir, "metal3-"+namespace+".log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	args = append(args, "-namespace="+namespace, "-webhook-port=0", "-metrics-addr=0", "-health-addr=127.0.0.1:"+anyPort(t))
	cmd := exec.Command(program, args...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+shared.kubeconfig), env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		const kinds = "baremetalhosts,hostfirmwaresettings,hostfirmwarecomponents,preprovisioningimages,hardwaredata"
		left, _ := shared.run(context.WithoutCancel(ctx), nil, "get", kinds, "-n", namespace, "-o", "name")
		for _, object := range strings.Fields(left) {
			_, _ = shared.run(context.WithoutCancel(ctx), nil, "patch", object, "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		}
		_, _ = shared.run(context.WithoutCancel(ctx), nil, "delete", kinds, "--all", "-n", namespace, "--timeout=20s")
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the end of Metal3's log:\n%s", text[max(0, len(text)-4000):])
		}
	})
}

// enroll creates a host with its hardware data, so that Metal3 does not inspect it.
func enroll(t *testing.T, ctx context.Context, c client.Client, namespace string, n int, name, mac, bmc string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	objects := []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name + "-bmc", Namespace: namespace}, StringData: map[string]string{"username": "u", "password": "p"}},
		&metal3.HardwareData{ObjectMeta: meta, Spec: metal3.HardwareDataSpec{HardwareDetails: &metal3.HardwareDetails{
			CPU: metal3.CPU{Arch: "x86_64", Count: 8}, RAMMebibytes: 16 << 10,
			NIC: []metal3.NIC{{Name: "eth0", MAC: mac, IP: fmt.Sprintf("10.9.0.%d", n), PXE: true}},
		}}},
		&metal3.BareMetalHost{ObjectMeta: meta, Spec: metal3.BareMetalHostSpec{
			BMC:            metal3.BMCDetails{Address: bmc, CredentialsName: name + "-bmc"},
			BootMACAddress: mac, BootMode: metal3.Legacy, RootDeviceHints: &metal3.RootDeviceHints{MinSizeGigabytes: 4},
			InspectionMode: metal3.InspectionModeDisabled, AutomatedCleaningMode: metal3.CleaningModeDisabled,
		}},
	}
	for _, o := range objects {
		if err := c.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitHosts waits until all hosts have the provisioning state. It fails the test when ctx ends.
func awaitHosts(t *testing.T, ctx context.Context, c client.Client, namespace string, names []string, state metal3.ProvisioningState) {
	t.Helper()
	retry := time.NewTicker(200 * time.Millisecond)
	defer retry.Stop()
	for _, name := range names {
		for {
			h := &metal3.BareMetalHost{}
			if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, h); err != nil {
				t.Fatal(err)
			}
			if h.Status.Provisioning.State == state {
				break
			}
			select {
			case <-retry.C:
			case <-ctx.Done():
				t.Fatalf("timeout: host %s is %s (%s), want %s", name, h.Status.Provisioning.State, h.Status.ErrorMessage, state)
			}
		}
	}
}
