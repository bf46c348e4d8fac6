//go:build integration

package integration

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/akraino-icn/bpa/pkg/prerequisites"
)

const (
	metal3Kinds = "../../bootstrap/manifests/metal3-crds.yaml"
	waiting     = "waiting" // namespace of this file's Provisioning
	probes      = "http://127.0.0.1:8080"
)

// TestControllerWaitsForItsPrerequisites starts the real controller without the CRDs of Tekton and
// Metal3. It checks that the controller keeps running, and that the Provisioning and the log name
// the missing CRDs. The same process continues when both are installed.
func TestControllerWaitsForItsPrerequisites(t *testing.T) {
	tekton := filepath.Join(moduleDir(t, "github.com/tektoncd/pipeline"), "config", "300-crds")
	for _, kinds := range []string{metal3Kinds, tekton} { // an earlier test may have installed them
		must(t, "", "delete", "--ignore-not-found", "--timeout=20s", "-f", kinds)
	}
	must(t, "", "create", "namespace", waiting)
	must(t, manifest("edge-1", one), "apply", "-n", waiting, "-f", "-")
	c := startController(t)

	both := prerequisites.Message(prerequisites.Needs[1:])
	c.await(t, "message", both)
	c.await(t, "reason", prerequisites.Reason)
	if log := c.output(t); !strings.Contains(log, both) {
		t.Errorf("the log does not contain %q:\n%s", both, log)
	}
	c.answers(t, "/health")
	c.answers(t, "/readiness")

	must(t, "", "apply", "--server-side", "-f", metal3Kinds)
	c.await(t, "message", prerequisites.Message(prerequisites.Needs[1:2])) // Tekton is still missing
	must(t, "", "apply", "--server-side", "-f", tekton)
	c.await(t, "reason", "HostsNotAvailable")
	applyConfigAgain(t)
	must(t, "", "delete", "-n", "bpa-system", "configmap", "config-bpa")
	c.await(t, "reason", "InvalidSettings")
	must(t, "", "wait", "-n", "bpa-system", "configmap/config-bpa", "--for=create", "--timeout=25s") // by the controller
	must(t, "", "patch", "-n", "bpa-system", "configmap", "config-bpa", "--type=merge", "-p", `{"data":{"depot-url":"internet"}}`)
	c.await(t, "reason", "HostsNotAvailable")
	c.answers(t, "/health")
	c.alive(t)
	if log := c.output(t); strings.Contains(log, "forbidden") {
		t.Errorf("config/200-controller.yaml lacks a permission:\n%s", log)
	}
}

// applyConfigAgain applies config/ over the settings of a site whose earlier release had them in config/,
// as both kinds of apply do it, and checks that they stay. The files of the webhook are left out, because
// its Service leads to a process of the tests, and the Tasks, which need the defaults of Tekton's webhook.
func applyConfigAgain(t *testing.T) {
	t.Helper()
	settings := func() string {
		return must(t, "", "get", "-n", "bpa-system", "configmap", "config-bpa", "-o", "jsonpath={.data}")
	}
	earlier := strings.Replace(siteWithoutDepot, "{depot-url: internet}", "{depot-url: internet, max-attempts: '5', run-history: '5'}", 1)
	must(t, earlier, "apply", "-n", "bpa-system", "--force-conflicts", "--server-side", "-f", "-")
	must(t, earlier, "apply", "-n", "bpa-system", "-f", "-")
	must(t, "", "patch", "-n", "bpa-system", "configmap", "config-bpa", "--type=merge", "-p", `{"data":{"depot-url":"https://10.60.0.9:5443","max-attempts":"7"}}`)
	before := settings()
	files, err := filepath.Glob("../../config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("config/: %v, %v", files, err)
	}
	for _, how := range [][]string{{"apply"}, {"apply", "--server-side", "--force-conflicts"}} {
		args := append([]string{"-n", "bpa-system"}, how...)
		for _, file := range files {
			if name := filepath.Base(file); name != "400-webhook-service.yaml" && name != "500-webhooks.yaml" && !strings.HasPrefix(name, "300-") && !strings.HasPrefix(name, "600-") {
				args = append(args, "-f", file)
			}
		}
		must(t, "", args...)
		if after := settings(); after != before || !strings.Contains(after, "10.60.0.9") {
			t.Errorf("after %v the settings are %s, and were %s", how, after, before)
		}
	}
}

// moduleDir returns the folder of a module in the Go module cache, in the product's version.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

// controller is a running cmd/controller with the permissions of its service account.
type controller struct {
	log   string     // path of the log file
	ended chan error // receives when the process exits
}

// siteWithoutDepot are the settings of the tests' site.
const siteWithoutDepot = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-bpa, namespace: bpa-system}\ndata: {depot-url: internet}\n"

// startController starts the controller on a site without a depot.
func startController(t *testing.T) *controller {
	t.Helper()
	must(t, siteWithoutDepot, "apply", "-n", "bpa-system", "--server-side", "--force-conflicts", "-f", "-")
	for _, file := range []string{"200-controller", "config-leader-election", "config-observability"} {
		must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/"+file+".yaml")
	}
	if _, err := http.Get(probes); err == nil {
		t.Fatalf("another program of this machine answers at %s, where the controller answers the kubelet: stop it", probes)
	}
	program := filepath.Join(shared.dir, "controller")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/controller").CombinedOutput(); err != nil {
		t.Fatalf("build the controller: %v\n%s", err, out)
	}
	c := &controller{log: filepath.Join(shared.dir, "controller.log"), ended: make(chan error, 1)}
	log, err := os.Create(c.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "KUBECONFIG="+controllerKubeconfig(t), "SYSTEM_NAMESPACE=bpa-system", "POD_NAME=bpa-controller-0",
		"KUBERNETES_MIN_VERSION=v1.28.0", "METRICS_PROMETHEUS_PORT="+anyPort(t), "PROFILING_PORT="+anyPort(t))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-c.ended
	})
	return c
}

func controllerKubeconfig(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(shared.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:bpa-system:bpa-controller"
	}
	path := filepath.Join(shared.dir, "controller.kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func anyPort(t *testing.T) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(port)
}

// await waits until a field of the Provisioning's condition Ready has this value.
func (c *controller) await(t *testing.T, field, value string) {
	t.Helper()
	condition := fmt.Sprintf(`--for=jsonpath={.status.conditions[?(@.type=="Ready")].%s}=%s`, field, value)
	if out, err := kubectl(t, "", "wait", "-n", waiting, "bpa/edge-1", "--timeout=60s", condition); err != nil {
		status, _ := kubectl(t, "", "get", "-n", waiting, "bpa/edge-1", "-o", "jsonpath={.status}")
		t.Fatalf("no %s %q: %v\n%s\nstatus: %s\ncontroller:\n%s", field, value, err, out, status, c.output(t))
	}
}

// answers sends a probe as the kubelet does, and repeats it for at most 20 s until it succeeds. A
// probe can fail once the prerequisites are installed, because another server of the controller
// then takes over the port.
func (c *controller) answers(t *testing.T, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	retry := time.NewTicker(200 * time.Millisecond)
	defer retry.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, probes+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
			err = fmt.Errorf("status %s", response.Status)
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v\n%s", path, err, c.output(t))
		}
	}
}

func (c *controller) alive(t *testing.T) {
	t.Helper()
	select {
	case err := <-c.ended:
		c.ended <- err // sent again, because the cleanup also receives the error
		t.Fatalf("the controller exited: %v\n%s", err, c.output(t))
	default:
	}
}

// output returns the log so far.
func (c *controller) output(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(raw))
}
