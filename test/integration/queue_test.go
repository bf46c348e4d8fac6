//go:build integration

package integration

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

const queueing = "queueing" // namespace of this file's Provisionings

// TestQueueOfRuns starts the real controller with the default limit of four runs. Further Provisionings
// wait, in the order of their priority. The end of a run and a change of the limit start them,
// without any other event. There is no Tekton, so runs stay active until the test ends them.
func TestQueueOfRuns(t *testing.T) {
	prepareSiteOf(t, queueing)
	c := startController(t)

	for n := 1; n <= 4; n++ {
		apply(t, n, one)
		awaitQueue(t, c, runOf(n), "--for=create")
	}
	apply(t, 5, one)
	awaitQueue(t, c, "bpa/edge-5", "--for=jsonpath={.status.queue.place}=1")
	apply(t, 6, one+"priority: 5\n")
	awaitQueue(t, c, "bpa/edge-6", "--for=jsonpath={.status.queue.place}=1")
	awaitQueue(t, c, "bpa/edge-5", "--for=jsonpath={.status.progress.summary}=queued, place 2 of 2")

	must(t, "", "patch", "-n", queueing, runOf(2), "--subresource=status", "--type=merge", "-p",
		`{"status":{"conditions":[{"type":"Succeeded","status":"False","reason":"Cancelled","message":"by the test"}]}}`)
	awaitQueue(t, c, runOf(6), "--for=create")
	awaitQueue(t, c, "bpa/edge-5", "--for=jsonpath={.status.queue.place}=1")
	awaitQueue(t, c, "bpa/edge-6", `--for=jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Running`)
	if runs := must(t, "", "get", "-n", queueing, "pipelineruns", "-o", "name"); strings.Count(runs, "pipelinerun") != 5 || strings.Contains(runs, "edge-5") {
		t.Errorf("runs:\n%s", runs)
	}

	must(t, "", "patch", "-n", "bpa-system", "configmap", "config-bpa", "--type=merge", "-p", `{"data":{"max-runs":"0"}}`)
	awaitQueue(t, c, runOf(5), "--for=create")
	if log := c.output(t); strings.Contains(log, "forbidden") {
		t.Errorf("config/200-controller.yaml lacks a permission:\n%s", log)
	}
}

func runOf(n int) string { return fmt.Sprintf("pipelinerun/edge-%d-install-1", n) }

// prepareSiteOf creates a namespace with one host, which fits every Provisioning of the test, and the SSH key.
func prepareSiteOf(t *testing.T, namespace string) {
	t.Helper()
	tekton := filepath.Join(moduleDir(t, "github.com/tektoncd/pipeline"), "config", "300-crds")
	for _, file := range []string{metal3Kinds, tekton, "../../config/200-task-select-hosts.yaml"} {
		must(t, "", "apply", "--server-side", "-f", file)
	}
	must(t, "", "wait", "--for=condition=Established", "--timeout=30s", "crd/baremetalhosts.metal3.io", "crd/pipelineruns.tekton.dev")
	admin := hostClient(t, "")
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	host := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "host-1"}}
	host.Spec.ExternallyProvisioned, host.Spec.BootMACAddress = true, "02:00:00:00:0a:01"
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.DefaultSSHSecret}, Type: corev1.SecretTypeSSHAuth,
			Data: map[string][]byte{corev1.SSHAuthPrivateKey: pem.EncodeToMemory(key)},
		},
		host,
	} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	host.Status.Provisioning.State, host.Status.OperationalStatus, host.Status.PoweredOn = metal3.StateExternallyProvisioned, metal3.OperationalStatusOK, true
	host.Status.HardwareDetails = &metal3.HardwareDetails{
		CPU: metal3.CPU{Count: 8}, RAMMebibytes: 16 << 10, NIC: []metal3.NIC{{Name: "eth0", MAC: "02:00:00:00:0a:01", IP: "10.60.10.1"}},
	}
	if err := admin.Status().Update(t.Context(), host); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, n int, spec string) {
	t.Helper()
	must(t, manifest(fmt.Sprintf("edge-%d", n), spec), "apply", "-n", queueing, "-f", "-")
}

// awaitQueue waits for a state of an object. The limit includes the time until a new controller
// takes over from one that was killed.
func awaitQueue(t *testing.T, c *controller, object, state string) {
	t.Helper()
	if out, err := kubectl(t, "", "wait", "-n", queueing, object, "--timeout=28s", state); err != nil {
		all, _ := kubectl(t, "", "get", "-n", queueing, "bpa,pipelineruns", "-o", "yaml")
		t.Fatalf("%s %s: %v\n%s\n%s\ncontroller:\n%s", object, state, err, out, all, c.output(t))
	}
}
