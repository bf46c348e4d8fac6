package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/check"
	"github.com/akraino-icn/bpa/pkg/check/checktest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
)

// rack is a site with three servers that answer the probe, in the way that changes says, and a fourth without an operating
// system. The host key of host-1 is pinned by the cluster edge-1.
func rack(t *testing.T, changes map[int]func(string) string, more ...client.Object) (w *terminal, port string, servers []*sshtest.Server) {
	t.Helper()
	signer, key := sshtest.NewKey(t)
	hostKey, _ := sshtest.NewKey(t)
	var objects []client.Object
	for i, listener := range sshtest.Listen(t, "127.0.0.1", "127.0.0.2", "127.0.0.3") {
		servers = append(servers, sshtest.StartOn(t, listener, signer.PublicKey(), checktest.Host(i+1, changes[i+1]), hostKey))
	}
	for n := 1; n <= 4; n++ {
		objects = append(objects, bareMetal(n, 8, func(h *metal3.BareMetalHost) {
			h.UID, h.Labels = types.UID(fmt.Sprintf("uid-%d", n)), map[string]string{"rack": fmt.Sprintf("r%d", n%2)}
			if n == 4 {
				h.Spec.ExternallyProvisioned = false
				h.Status.Provisioning.State = metal3.StateAvailable
			}
		}))
	}
	pins := ssh.Pins{{UID: "uid-1", Host: "host-1", At: "127.0.0.1:22", Key: hostKey.PublicKey()}}
	objects = append(objects,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "ssh-key"}, Data: map[string][]byte{"ssh-privatekey": key}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: contract.KnownHostsName("edge-1")}, Data: map[string]string{contract.KeyKnownHosts: pins.String()}},
		provisioning("edge-1"))
	return newTerminal(t, append(objects, more...)...), strconv.Itoa(servers[0].Port), servers
}

// with returns a change of an answer.
func with(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }

func TestCheckHosts(t *testing.T) {
	w, port, _ := rack(t, nil)
	w.expect(w.run(t.Context(), "check", "hosts", "--ssh-port", port), codeDone, "asked 3 of 3", "0 errors, 0 warnings, 0 unknown on 3 hosts", "Not checked: host-4: it has no operating system yet")

	copied := with("00000000000000000000000000000002", "00000000000000000000000000000001", "swaps\n", "swaps\nswap /dev/sda2\n", "\ntool ping\n", "\n")
	for args, want := range map[string]struct {
		code  int
		texts []string
	}{
		"":                             {codeFailed, []string{"error     machine-id  host-1, host-2  host-1, host-2 have the machine-id 00000000000000000000000000000001", "warning   swap", "What to do:", "rm -f /etc/machine-id", "2 errors, 2 warnings, 0 unknown on 3 hosts", "--skip ID"}},
		"--skip machine-id":            {codeDone, []string{"Switched off: machine-id", "0 errors"}},
		"--skip machine-id,swap,tools": {codeDone, []string{"0 errors, 0 warnings"}},
		"-l rack=r1":                   {codeDone, []string{"on 2 hosts"}},
		"host-2 host-4":                {codeDone, []string{"0 errors, 2 warnings, 0 unknown on 1 host", "Not checked: host-4"}},
		"-A":                           {codeFailed, []string{"site-a/host-1, site-a/host-2 have the machine-id"}},
		"host-9":                       {codeUsage, []string{"namespace site-a has no host host-9"}},
		"host-1 -A":                    {codeUsage, []string{"exclude each other"}},
		"--skip swapp":                 {codeUsage, []string{`--skip is "swapp": the checks are ssh, answer`}},
		"--ssh-secret none host-2 --ask-timeout 1ms": {codeFailed, []string{"ssh    host-2"}}, // the login of edge-1 is tried
		"--ask-timeout 0s":                           {codeUsage, []string{"--ask-timeout is 0s"}},
		"--ssh-port 0":                               {codeUsage, []string{"--ssh-port is 0"}},
		"-l rack=r9":                                 {codeFailed, []string{"there is no BareMetalHost in namespace site-a with the labels rack=r9"}},
		"-o jsonpath={.kind}.{.errors} --skip machine-id": {codeDone, []string{"CheckReport.0"}},
	} {
		w, port, _ := rack(t, map[int]func(string) string{2: copied})
		line := append([]string{"check", "hosts"}, strings.Fields(args)...)
		if !strings.Contains(args, "--ssh-port") {
			line = append(line, "--ssh-port", port)
		}
		w.expect(w.run(t.Context(), line...), want.code, want.texts...)
	}
}

// TestCheckHostsForScripts: the report has its findings and hosts, also if there are none.
func TestCheckHostsForScripts(t *testing.T) {
	w, port, _ := rack(t, map[int]func(string) string{3: with("kernel 6.1.0-32-amd64", "kernel \x1b[2J4.4.0", "lookup 0\n", "")})
	w.expect(w.run(t.Context(), "check", "hosts", "--ssh-port", port, "-o", "json"), codeDone) // what is unknown is no error
	var got struct {
		APIVersion, Kind string
		Hosts            []checkedHost
		NotAsked         []notAsked
		Errors           int
		Unknown          int
		Findings         []check.Finding
	}
	if err := json.Unmarshal([]byte(w.text()), &got); err != nil {
		t.Fatalf("%v in %s", err, w.text())
	}
	if got.APIVersion != "cli.bpa.akraino.org/v1alpha1" || got.Kind != "CheckReport" || len(got.Hosts) != 3 || len(got.NotAsked) != 1 || got.Unknown != 2 || len(got.Findings) != 2 {
		t.Errorf("%+v", got)
	}
	if strings.Contains(w.text(), "u001b") {
		t.Errorf("the text of a host controls a terminal: %s", w.text())
	}
	w, port, _ = rack(t, nil)
	w.expect(w.run(t.Context(), "check", "hosts", "--ssh-port", port, "-o", "yaml"), codeDone, "findings: []", "errors: 0")
}

// TestCheckHostsVerifiesPinnedKeys: another key than the pinned one is an error, and that host gets no command.
func TestCheckHostsVerifiesPinnedKeys(t *testing.T) {
	w, port, servers := rack(t, nil)
	var secret corev1.Secret
	if err := w.cluster.Get(t.Context(), client.ObjectKey{Namespace: "site-a", Name: "ssh-key"}, &secret); err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParseKey(secret.Data["ssh-privatekey"])
	if err != nil {
		t.Fatal(err)
	}
	another, _ := sshtest.NewKey(t)
	servers[0].Rekey(key.PublicKey(), another)
	w.expect(w.run(t.Context(), "check", "hosts", "--ssh-port", port), codeFailed, "its SSH host key is", "1 error, 0 warnings")
	if n := len(servers[0].Commands()); n != 0 {
		t.Errorf("it has got %d commands", n)
	}
}

// TestCheckReadsOnly: a check makes no call that changes an object.
func TestCheckReadsOnly(t *testing.T) {
	w, port, _ := rack(t, nil)
	c := w.record()
	w.expect(w.run(t.Context(), "check", "hosts", "--ssh-port", port), codeDone)
	for _, call := range c.made {
		if verb, _, _ := strings.Cut(call, " "); !slices.Contains([]string{"get", "list"}, verb) {
			t.Errorf("the command makes the call %q", call)
		}
	}
	if !slices.Contains(c.made, "get secrets") {
		t.Errorf("calls %v", c.made)
	}
}

func TestCheckWithoutAKey(t *testing.T) {
	w := newTerminal(t, bareMetal(1, 8))
	w.expect(w.run(t.Context(), "check", "hosts"), codeFailed, "there is no Secret ssh-key in namespace site-a", "kubectl create secret generic ssh-key")
}

// manifest writes a Provisioning with one master and one worker, for the port of the servers.
func manifest(t *testing.T, port, name, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "edge.yaml")
	text := fmt.Sprintf(`apiVersion: bpa.akraino.org/v1alpha1
kind: Provisioning
metadata: {name: %s, namespace: site-a}
spec:
  masters: [{master-1: {mac-address: "02:00:00:00:00:02"}}]
  workers: [{worker-1: {mac-address: "02:00:00:00:00:01"}}]
  ssh: {port: %s}
  podSubnet: 10.240.0.0/16
%s`, name, port, more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCheckFile(t *testing.T) {
	small := with("cpus 8", "cpus 1", "route default eth0\n", "route default eth0\nroute 10.240.7.0/24 eth1\n")
	w, port, servers := rack(t, map[int]func(string) string{1: small, 2: small})
	w.expect(w.run(t.Context(), "check", "-f", manifest(t, port, "edge-7", "")), codeFailed,
		"cpus    master-1 (host-2)", "it has 1 CPU", "the range of the pods (10.240.0.0/16) overlaps with its route 10.240.7.0/24 (eth1)", "3 errors, 0 warnings, 0 unknown on 2 hosts")
	if len(servers[2].Commands()) != 0 {
		t.Error("a host that the Provisioning does not get was asked")
	}

	// What the Provisioning switches off.
	w.expect(w.run(t.Context(), "check", "-f", manifest(t, port, "edge-7", "  checks: {disable: [cpus]}\n"), "--skip", "ranges,cpus"), codeDone,
		"Switched off: ranges, cpus", "0 errors, 0 warnings, 0 unknown on 2 hosts")

	// The ports that the roles and the plugin need.
	var script string
	w, port, _ = rack(t, map[int]func(string) string{1: func(answer string) string { script = answer; return answer }})
	w.expect(w.run(t.Context(), "check", "-f", manifest(t, port, "edge-1", "  kubernetes: {networkPlugin: calico}\n  kubespray: {vars: {kube_proxy_mode: nftables}}\n")), codeDone, "0 errors, 0 warnings, 0 unknown on 2 hosts")
	for text, is := range map[string]bool{"knock 10.0.0.2 tcp 6443": true, "knock 10.0.0.2 udp 4789": true, "tcp 2379": false, "10.0.0.3": false, "feature nf_tables": true, "feature ip_vs ": false, "feature ip_set ": true} {
		if strings.Contains(script, text) != is {
			t.Errorf("the worker is asked for %q: %v, want %v", text, !is, is)
		}
	}
}

func TestCheckFileWithoutHosts(t *testing.T) {
	w, port, _ := rack(t, nil)
	w.expect(w.run(t.Context(), "check", "-f", manifest(t, port, "edge-7", "  nodeSets: [{name: more, role: worker, count: {active: 9}}]\n")), codeNotYet, "no assignment exists for edge-7", "kubectl bpa check hosts")
	w.expect(w.run(t.Context(), "check"), codeUsage, "--filename is missing")
	w.expect(w.run(t.Context(), "check", "host"), codeUsage, "check accepts no argument, got host")
}

// goodMachine answers for the bootstrap machine.
func goodMachine(_ context.Context, in check.Input, _ time.Duration) check.Answer {
	asked := time.Now()
	facts, err := check.Parse([]byte(checktest.Answer(check.Script(in, 0), 1, asked)))
	return check.Answer{Err: err, Facts: facts, Asked: asked, Answered: time.Now()}
}

func TestCheckSite(t *testing.T) {
	w, _, _ := rack(t, nil)
	w.config = &rest.Config{Host: "https://127.0.0.1:6443"}
	w.expect(w.run(t.Context(), "check", "site"), codeDone, "0 errors, 0 warnings, 0 unknown on this machine")
	w.config.Host = "https://198.51.100.7:6443"
	w.expect(w.run(t.Context(), "check", "site"), codeDone, "Not checked: the bootstrap machine: its API server is at 198.51.100.7, which is not this machine")

	w = newTerminal(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: map[string]string{"depot-url": "nonsense"}})
	w.config = &rest.Config{Host: "https://localhost:6443"}
	w.expect(w.run(t.Context(), "check", "site"), codeFailed, "site-settings", "kubectl patch configmap", "site-ssh-key", "there is no Secret ssh-key in namespace site-a", "site-hosts", "2 errors, 1 warning")
	w.expect(w.run(t.Context(), "check", "site", "--skip=site-settings,site-ssh-key"), codeDone)

	w = newTerminal(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "ssh-key"}, Data: map[string][]byte{"ssh-privatekey": []byte("ssh-ed25519 AAAA")}})
	w.expect(w.run(t.Context(), "check", "site"), codeFailed, "is a public key")
	missing := w.cluster
	w.cluster = interceptor.NewClient(missing, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		switch list.(type) {
		case *metal3.BareMetalHostList, *tekton.PipelineRunList:
			return &meta.NoKindMatchError{}
		}
		return c.List(ctx, list, opts...)
	}})
	w.expect(w.run(t.Context(), "check", "site"), codeFailed, "this cluster does not have the kind BareMetalHost (Metal3), PipelineRun (Tekton)")
	w.cluster = interceptor.NewClient(missing, interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return forbidden("list")
	}})
	w.expect(w.run(t.Context(), "check", "site"), codeFailed, "Your account lacks this right")
}
