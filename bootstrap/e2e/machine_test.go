//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/images"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/site"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

var (
	state  = siteOf(layout.FromEnv())
	client = supervisor.NewClient(supervisor.Paths{Socket: state.SupervisorSocket(), Lock: state.Run("supervisor.lock")})
)

// siteOf is the machine with the networks of its site.
func siteOf(l layout.Layout) layout.Layout {
	l, err := site.Load(l)
	if err != nil {
		panic(err)
	}
	return l
}

// TestAddressOfTheSite asks the depot and the API server at the address and the name that servers and people use.
func TestAddressOfTheSite(t *testing.T) {
	for _, c := range []struct{ ca, port, path string }{
		{state.DepotCA(), layout.DepotTLSPort, "/ca.crt"}, {filepath.Join(state.PKI(), "ca.crt"), layout.APIServerPort, "/livez"},
	} {
		ca, err := os.ReadFile(c.ca)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca)
		for _, host := range state.Net().Hosts() {
			client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: host}}}
			answer, err := client.Get("https://192.0.2.10:" + c.port + c.path)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("%s at port %s: %+v, %v", host, c.port, answer, err)
				continue
			}
			answer.Body.Close()
		}
	}
	if err := host.CheckFirewall(t.Context(), state.Net()); err != nil {
		t.Error(err)
	}
}

func TestEveryKilledComponentRestartsAndPodsKeepRunning(t *testing.T) {
	before := pods(t)
	_, components := status(t)
	for _, c := range components {
		t.Run(c.Name, func(t *testing.T) {
			kill(t, c.PID)
			awaitAnother(t, c)
		})
	}
	allReady(t)
	samePods(t, before)
}

// TestComponentsThatHangAreRestarted stops the processes of two components, which do not end then: their probes find it.
func TestComponentsThatHangAreRestarted(t *testing.T) {
	before := pods(t)
	var hang []supervisor.Status
	for _, c := range statusNow(t) {
		if c.Name == "depot" || c.Name == "kube-scheduler" {
			hang = append(hang, c)
			if err := syscall.Kill(c.PID, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := time.Now()
	for _, c := range hang {
		awaitAnother(t, c)
		t.Logf("%s, which hung, was ready again after %s", c.Name, time.Since(began).Round(time.Second))
	}
	if len(hang) != 2 {
		t.Errorf("components that hung: %v", hang)
	}
	samePods(t, before)
	checkNewPod(t)
}

// awaitAnother waits until the component is ready with another process.
func awaitAnother(t *testing.T, c supervisor.Status) {
	t.Helper()
	eventually(t, c.Name+" runs again", func() bool {
		for _, now := range statusNow(t) {
			if now.Name == c.Name {
				return now.Phase == supervisor.Ready && now.PID != c.PID
			}
		}
		return false
	})
}

// TestDepotAcceptsLocalPushesWithTheTokenOnly starts an upload at each listener of the depot.
func TestDepotAcceptsLocalPushesWithTheTokenOnly(t *testing.T) {
	ca, err := os.ReadFile(state.DepotCA())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	login, err := images.Login(state.DepotToken())
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]int{
		"http://" + state.Net().Depot(): http.StatusForbidden, "https://" + state.Net().DepotTLS(): http.StatusUnauthorized, "http://" + layout.DepotLocal: http.StatusUnauthorized,
		"https://any:" + login.Password + "@" + state.Net().DepotTLS(): http.StatusUnauthorized, "http://any:" + login.Password + "@" + layout.DepotLocal: http.StatusAccepted,
	} {
		response, err := client.Post(url+"/v2/e2e/blobs/uploads/", "application/octet-stream", nil)
		if err != nil {
			t.Error(err)
			continue
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: %s, want %d", strings.ReplaceAll(url, login.Password, "SECRET"), response.Status, want)
		}
	}
}

func TestComponentsEndWithTheSupervisorAndUpRestartsThem(t *testing.T) {
	before := pods(t)
	pid, components := status(t)
	kill(t, pid)
	eventually(t, "all components have ended", func() bool {
		for _, c := range components {
			if alive(c.PID) {
				return false
			}
		}
		return true
	})
	up(t)
	samePods(t, before)
}

func TestTheClusterSurvivesTheDeathOfAllProcesses(t *testing.T) {
	kubectl(t, "delete", "configmap", "survivor", "--ignore-not-found")
	kubectl(t, "create", "configmap", "survivor", "--from-literal=written=before")
	pid, _ := status(t)
	kill(t, pid)
	if err := host.KillContainers(t.Context(), state); err != nil {
		t.Fatal(err)
	}
	if err := host.RemoveNetwork(t.Context()); err != nil {
		t.Fatal(err)
	}
	up(t)
	if got := kubectl(t, "get", "configmap", "survivor", "-o", "jsonpath={.data.written}"); got != "before" {
		t.Errorf("the object written before the failure contains %q, want \"before\"", got)
	}
	checkNewPod(t)
}

// TestDownKeepsAllDataAndStartContinues starts the machine again as on a site: from the state folder, without source
// and Go.
func TestDownKeepsAllDataAndStartContinues(t *testing.T) {
	kubectl(t, "delete", "configmap", "kept", "--ignore-not-found")
	kubectl(t, "create", "configmap", "kept", "--from-literal=written=before")
	for range 2 { // a second down succeeds
		machine(t, "down")
		left, err := host.Leftovers(t.Context(), state)
		if err != nil || len(left) > 0 {
			t.Errorf("left after down: %v, %v", left, err)
		}
	}
	t.Setenv("PATH", "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin")
	cmd := exec.CommandContext(t.Context(), state.Bin("machine"), "start")
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("machine start: %v\n%s", err, out)
	}
	if got := kubectl(t, "get", "configmap", "kept", "-o", "jsonpath={.data.written}"); got != "before" {
		t.Errorf("the object written before down contains %q, want \"before\"", got)
	}
	checkNewPod(t)
}

func TestDestroyNeedsTheIDAndUpStartsAfresh(t *testing.T) {
	id, err := state.ID()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := tryMachine(t, "destroy"); err == nil || !strings.Contains(out, "machine destroy --yes "+id) {
		t.Errorf("destroy without the id: %v", err)
	}
	allReady(t)
	machine(t, "destroy", "--yes", id)
	left, err := host.Leftovers(t.Context(), state)
	if err != nil || len(left) > 0 {
		t.Errorf("left after destroy: %v, %v", left, err)
	}
	for _, dir := range state.ClusterDirs() {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there (%v)", dir, err)
		}
	}
	up(t)
	checkNewPod(t)
	began := time.Now()
	up(t)
	t.Logf("up on a running machine took %s", time.Since(began).Round(100*time.Millisecond))
}

// restricted makes the pod of kubectl run one that the namespaces of the machine admit.
const restricted = `{"spec": {"containers": [{"name": "probe", "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "allowPrivilegeEscalation": false,
	"capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}}]}}`

// checkNewPod checks that a pod that is not restricted is refused, that a new pod is scheduled and runs to its end, and that DNS is rolled out.
func checkNewPod(t *testing.T) {
	t.Helper()
	kubectl(t, "delete", "pod", "probe", "--ignore-not-found", "--force", "--grace-period=0")
	image := strings.TrimSpace(kubectl(t, "-n", "kube-system", "get", "deployment", "coredns", "-o", "jsonpath={.spec.template.spec.containers[0].image}"))
	if _, err := tryKubectl(t, "run", "probe", "--image="+image, "--restart=Never"); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Errorf("a pod that is not restricted: %v, want it refused", err)
	}
	kubectl(t, "run", "probe", "--image="+image, "--restart=Never", "--overrides="+restricted, "--override-type=strategic", "--command", "--", "/coredns", "-version")
	kubectl(t, "wait", "pod/probe", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
	kubectl(t, "-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=120s")
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// alive reports whether the process runs. A zombie does not count.
func alive(pid int) bool { return host.ResidentKiB(pid) > 0 }

func status(t *testing.T) (int, []supervisor.Status) {
	t.Helper()
	pid, components, err := client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pid, components
}

func statusNow(t *testing.T) []supervisor.Status {
	_, components := status(t)
	return components
}

func allReady(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := client.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
}

// pods returns the start time of the running container of each pod in kube-system, by pod name.
func pods(t *testing.T) map[string]string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				ContainerStatuses []struct {
					State struct {
						Running *struct{ StartedAt string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(kubectl(t, "-n", "kube-system", "get", "pods", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	started := map[string]string{}
	for _, p := range list.Items {
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Running != nil {
				started[p.Metadata.Name] = c.State.Running.StartedAt
			}
		}
	}
	if len(started) == 0 {
		t.Fatal("no pod runs in kube-system")
	}
	return started
}

func samePods(t *testing.T, before map[string]string) {
	t.Helper()
	after := pods(t)
	for name, started := range before {
		if after[name] != started {
			t.Errorf("pod %s ran since %s, now since %q", name, started, after[name])
		}
	}
}

// eventualLimit includes the minute in which the probes of a component that hangs fail, on a loaded machine.
const eventualLimit = 3 * time.Minute

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	limit := time.After(eventualLimit)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("timeout after %s: waiting until %s", eventualLimit, what)
		}
	}
}

func up(t *testing.T) {
	t.Helper()
	machine(t, "up", "--project=false")
}

func machine(t *testing.T, args ...string) {
	t.Helper()
	if _, err := tryMachine(t, args...); err != nil {
		t.Fatalf("machine %s: %v", strings.Join(args, " "), err)
	}
}

func tryMachine(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./cmd/machine"}, args...)...)
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	t.Logf("machine %s\n%s", strings.Join(args, " "), out)
	return string(out), err
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := tryKubectl(t, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// tryKubectl returns the output of kubectl. The error has what kubectl reports.
func tryKubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(state.BinDir(), "kubectl"), append([]string{"--kubeconfig=" + state.Kubeconfig()}, args...)...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}
