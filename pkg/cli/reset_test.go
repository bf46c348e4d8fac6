package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

func TestResetOfHosts(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1), usedHost(2), usedHost(3))
	r.started = func(run *tekton.PipelineRun) {
		for _, host := range []string{"host-1", "host-2"} {
			if got, want := r.marks(host), "site-a/edge-9 gone|being reset by PipelineRun "+run.Name; got != want {
				t.Errorf("during the run, %s has %q, want %q", host, got, want)
			}
		}
		r.checkObjects(run)
		r.end(run, contract.HostStates{"host-uid-1": contract.HostClean, "host-uid-2": contract.HostClean}, "")
	}
	code := r.run(t.Context(), "hosts", "reset", "host-2", "host-1", "--yes", "--ssh-user=ubuntu", "--release=v2.31.0")
	r.expect(code, codeDone, "host-1 is clean", "host-2 is clean", "kubectl logs -l tekton.dev/pipelineRun=reset-")
	for host, want := range map[string]string{"host-1": "|", "host-2": "|", "host-3": "site-a/edge-9 gone|"} {
		if got := r.marks(host); got != want {
			t.Errorf("%s has %q, want %q", host, got, want)
		}
	}
}

// checkObjects checks that a run has all objects that it needs, that it owns them, and that Tekton
// accepts the run.
func (r *resets) checkObjects(run *tekton.PipelineRun) {
	t := r.t
	var request contract.Request
	objects := map[string]client.Object{
		"request": &corev1.ConfigMap{}, "request-out": &corev1.ConfigMap{}, "known-hosts": &corev1.ConfigMap{}, "progress": &corev1.ConfigMap{}, "installed": &corev1.ConfigMap{},
		"kubespray": &rbacv1.Role{}, "nodes-ssh-key": &corev1.Secret{},
	}
	for name, object := range objects {
		if r.get(run.Name+"-"+name, object); !metav1.IsControlledBy(object, run) {
			t.Errorf("%s is not owned by the run: %v", object.GetName(), object.GetOwnerReferences())
		}
	}
	for _, w := range run.Spec.Workspaces {
		of := map[string]string{contract.WorkspaceSSH: run.Name + "-nodes-ssh-key", contract.WorkspaceSiteSSH: "ssh-key"}
		if w.Secret != nil && w.Secret.SecretName != of[w.Name] {
			t.Errorf("workspace %s has Secret %s: the pod of the playbook may not have the key of the site", w.Name, w.Secret.SecretName)
		}
	}
	if _, err := ssh.ParseKey(objects["nodes-ssh-key"].(*corev1.Secret).Data[corev1.SSHAuthPrivateKey]); err != nil {
		t.Errorf("the key of the run: %v", err)
	}
	r.get(run.Name+"-enroll", &corev1.ServiceAccount{})
	r.get(run.Name+"-kubespray", &corev1.ServiceAccount{})
	r.get(run.Name+"-kubespray", &rbacv1.RoleBinding{})
	rules := objects["kubespray"].(*rbacv1.Role).Rules
	if diff := cmp.Diff([]string{run.Name + "-known-hosts", run.Name + "-progress", run.Name + "-installed", run.Name + "-software"}, rules[0].ResourceNames); diff != "" || len(rules) != 1 {
		t.Errorf("the task may use other ConfigMaps (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(objects["request"].(*corev1.ConfigMap).Data[contract.KeyRequest]), &request); err != nil {
		t.Fatal(err)
	}
	if request.Provisioning != run.Name || request.UID != "" || request.Namespace != "site-a" || request.SSHUser != "ubuntu" || request.SSHPort != 22 {
		t.Errorf("request %+v", request)
	}
	both := []string{contract.RoleControlPlane, contract.RoleWorker}
	want := []contract.Node{
		{Name: "host-1", Roles: both, Host: "host-1", HostUID: "host-uid-1", Address: "10.0.0.1", MACs: []string{"02:00:00:00:00:01"}},
		{Name: "host-2", Roles: both, Host: "host-2", HostUID: "host-uid-2", Address: "10.0.0.2", MACs: []string{"02:00:00:00:00:02"}},
	}
	if diff := cmp.Diff(want, request.NodesOf(nil)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	checked := convert.ToTekton(run)
	checked.OwnerReferences = nil
	checked.SetDefaults(t.Context())
	if err := checked.Validate(t.Context()); err != nil {
		t.Errorf("Tekton refuses the run: %v", err)
	}
	params := map[string]string{}
	for _, p := range run.Spec.Params {
		params[p.Name] = p.Value.StringVal
	}
	if diff := cmp.Diff(map[string]string{"provisioning": run.Name, "playbook": "reset.yml", "enroll": "true", "kubespray-task": "kubespray-v2.31.0"}, params); diff != "" {
		t.Errorf("params (-want +got):\n%s", diff)
	}
}

// TestResetOfSomeHosts checks that each host has its own result, and that the error says what is
// left and how to continue.
func TestResetOfSomeHosts(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1), usedHost(2))
	r.started = func(run *tekton.PipelineRun) {
		r.end(run, contract.HostStates{"host-uid-1": contract.HostClean, "host-uid-2": contract.HostUsed},
			`{"reason":"ResetIncomplete","host":"host-2","message":"/var/lib/etcd is left\u001b[2J"}`)
	}
	code := r.run(t.Context(), "hosts", "reset", "host-1", "host-2", "--yes", "--ssh-port=2222")
	r.expect(code, codeFailed, "host-1 is clean", "1 of 2 hosts were not reset", "host-2: ResetIncomplete on host-2: /var/lib/etcd is left",
		"kubectl bpa hosts reset host-2 -n site-a --ssh-port=2222")
	if one, two := r.marks("host-1"), r.marks("host-2"); one != "|" || two != "site-a/edge-9 gone|" {
		t.Errorf("host-1 has %q, host-2 has %q", one, two)
	}
}

// TestInterruptedReset checks that a run continues after an interrupt, and that the same command
// follows it, while a command for another selection of its hosts is refused.
func TestInterruptedReset(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1), usedHost(2))
	ctx, interrupt := context.WithCancel(t.Context())
	r.started = func(*tekton.PipelineRun) { interrupt() }
	r.expect(r.run(ctx, "hosts", "reset", "host-1", "--yes"), codeInterrupted, "kubectl bpa hosts reset host-1 -n site-a")
	run := &tekton.PipelineRun{}
	r.get("reset-host-1-1", run)
	if got := r.marks("host-1"); got != "site-a/edge-9 gone|being reset by PipelineRun reset-host-1-1" || run.IsPending() {
		t.Errorf("after the interrupt, host-1 has %q; the run is pending: %t", got, run.IsPending())
	}
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "host-2", "--yes"), codeFailed, "PipelineRun reset-host-1-1 already resets host-1")
	if got := r.marks("host-2"); got != "site-a/edge-9 gone|" {
		t.Errorf("the refused command has left host-2 with %q", got)
	}
	r.forget()
	code := r.start("hosts", "reset", "host-1") // a run that was confirmed once needs no other confirmation
	r.await("waiting for the pod of the run")
	r.end(run, contract.HostStates{"host-uid-1": contract.HostClean}, "")
	r.expect(<-code, codeDone, "host-1 is clean")
	if got := r.marks("host-1"); got != "|" {
		t.Errorf("host-1 has %q", got)
	}
}

// TestResetThatEndsUnseen checks that the result of a run counts if the command was interrupted, and
// that no second run is started.
func TestResetThatEndsUnseen(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1), usedHost(2))
	ctx, interrupt := context.WithCancel(t.Context())
	r.started = func(run *tekton.PipelineRun) {
		interrupt()
		r.end(run, contract.HostStates{"host-uid-1": contract.HostClean, "host-uid-2": contract.HostUsed}, `{"reason":"HostUnreachable","host":"host-2"}`)
	}
	r.expect(r.run(ctx, "hosts", "reset", "host-1", "host-2", "--yes"), codeInterrupted)
	r.started = func(run *tekton.PipelineRun) { t.Errorf("run %s was started", run.Name) }
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "host-2"), codeFailed, "host-1 is clean", "host-2: HostUnreachable on host-2")
	if one, two := r.marks("host-1"), r.marks("host-2"); one != "|" || two != "site-a/edge-9 gone|" {
		t.Errorf("host-1 has %q, host-2 has %q", one, two)
	}
}

// TestFinishedResetIsNotUsedAgain checks that an earlier run is no proof that a host is clean now.
func TestFinishedResetIsNotUsedAgain(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1))
	var names []string
	r.started = func(run *tekton.PipelineRun) {
		names = append(names, run.Name)
		r.end(run, contract.HostStates{"host-uid-1": contract.HostClean}, "")
	}
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "--yes"), codeDone)
	h := &metal3.BareMetalHost{}
	r.get("host-1", h)
	h.Annotations = map[string]string{contract.AnnotationUsedBy: "site-a/edge-9 gone"}
	r.update(h)
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "--yes"), codeDone)
	if diff := cmp.Diff([]string{"reset-host-1-1", "reset-host-1-2"}, names); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// TestRefusedResets checks commands that must change nothing.
func TestRefusedResets(t *testing.T) {
	for name, test := range map[string]struct {
		host *metal3.BareMetalHost
		args []string
		in   string
		code int
		says string
	}{
		"held by a Provisioning":      {usedHost(1, heldBy("edge-1", "a")), nil, "", codeFailed, "held by Provisioning edge-1: `kubectl delete bpa edge-1 -n site-a` resets its hosts"},
		"held by one that is gone":    {usedHost(1, heldBy("edge-7", "a")), nil, "", codeFailed, "Provisioning edge-7, which does not exist: release it with the command that `kubectl bpa hosts -n site-a` shows"},
		"never used":                  {bareMetal(1, 8), nil, "", codeFailed, "BPA has installed no cluster on it since its last reset"},
		"a host that is not there":    {usedHost(2), nil, "", codeFailed, "host-1: there is no BareMetalHost of this name in namespace site-a"},
		"no operating system":         {usedHost(1, isAvailable), nil, "", codeFailed, "So that site-a/edge-9 can use it, too, remove the mark with `kubectl annotate bmh host-1 -n site-a bpa.akraino.org/used-by-`"},
		"no system and no mark":       {bareMetal(1, 8, isAvailable), nil, "", codeFailed, "it has no operating system, so there is nothing to reset"},
		"being provisioned":           {usedHost(1, isInspecting), nil, "", codeFailed, "it is inspecting"},
		"not confirmed":               {usedHost(1), []string{"--yes=false"}, "no\n", codeFailed, "not confirmed: nothing was changed"},
		"no Secret":                   {usedHost(1), []string{"--ssh-secret=other"}, "", codeFailed, "there is no Secret other in namespace site-a"},
		"no address":                  {usedHost(1, hasNoCards), nil, "", codeFailed, "host host-1, chosen for host-1, is without an IP address"},
		"an address of another":       {usedHost(1, hasAddressOf(3)), nil, "", codeFailed, "has the same address 10.0.0.3 as host host-3"},
		"a user name for Ansible":     {usedHost(1), []string{"--ssh-user=a b"}, "", codeFailed, `SSH user "a b" does not match`},
		"a port that does not exist":  {usedHost(1), []string{"--ssh-port=0"}, "", codeUsage, "--ssh-port is 0"},
		"a subnet without the host":   {usedHost(1), []string{"--subnet=10.9.0.0/16"}, "", codeFailed, "without an IP address in 10.9.0.0/16"},
		"held by something else, too": {usedHost(1, heldByMachine), []string{"--force"}, "", codeFailed, "it is held by Machine m: a host can be reset when its holder has released it"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newResets(t, sshKey(), provisioning("edge-1"), test.host, bareMetal(3, 8, heldBy("edge-1", "b")))
			before := r.marks(test.host.Name)
			r.typed = strings.NewReader(test.in)
			r.expect(r.run(t.Context(), append([]string{"hosts", "reset", "host-1", "--yes"}, test.args...)...), test.code, test.says)
			var all tekton.PipelineRunList
			if err := r.cluster.List(t.Context(), &all); err != nil || len(all.Items) > 0 || r.marks(test.host.Name) != before {
				t.Errorf("%d runs, host with %q: %v", len(all.Items), r.marks(test.host.Name), err)
			}
		})
	}
}

func isAvailable(h *metal3.BareMetalHost) {
	h.Spec.ExternallyProvisioned, h.Status.Provisioning.State = false, metal3.StateAvailable
}

func isInspecting(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateInspecting }

func hasNoCards(h *metal3.BareMetalHost) { h.Status.HardwareDetails.NIC = nil }

func hasAddressOf(n int) func(*metal3.BareMetalHost) {
	return func(h *metal3.BareMetalHost) { h.Status.HardwareDetails.NIC[0].IP = fmt.Sprintf("10.0.0.%d", n) }
}

func heldByMachine(h *metal3.BareMetalHost) {
	h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Machine", Name: "m", Namespace: "site-a"}
}

// TestResetOfAForeignKubernetes checks that --force resets a host without a mark after a
// confirmation.
func TestResetOfAForeignKubernetes(t *testing.T) {
	r := newResets(t, sshKey(), bareMetal(1, 8))
	r.typed = strings.NewReader("yes\n")
	r.started = func(run *tekton.PipelineRun) { r.end(run, contract.HostStates{"u": contract.HostClean}, "") }
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "--force"), codeDone, "host-1  (a Kubernetes that BPA has not installed)", "host-1 is clean")
	if got := r.marks("host-1"); got != "|" {
		t.Errorf("host-1 has %q", got)
	}
}

// TestInterruptedConfirmation checks that Ctrl-C ends the command while it waits for an answer.
func TestInterruptedConfirmation(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1))
	ctx, interrupt := context.WithCancel(t.Context())
	in, _ := io.Pipe() // the user types nothing
	defer in.Close()
	r.typed = in
	code := make(chan int, 1)
	go func() { code <- r.run(ctx, "hosts", "reset", "host-1") }()
	interrupt()
	r.expect(<-code, codeInterrupted)
	if got := r.marks("host-1"); got != "site-a/edge-9 gone|" {
		t.Errorf("host-1 has %q", got)
	}
}

// TestResetThatCannotStart checks that a failed start leaves no quarantine and no pending run.
func TestResetThatCannotStart(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1), usedHost(2, func(h *metal3.BareMetalHost) { h.Annotations[contract.AnnotationQuarantine] = "fan" }))
	r.refuse = resetName([]string{"host-1", "host-2"}, 1) + "-kubespray"
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "host-2", "--yes"), codeFailed, "for the run", "Your account lacks this right in namespace site-a")
	var all tekton.PipelineRunList
	if err := r.cluster.List(t.Context(), &all); err != nil || len(all.Items) > 0 {
		t.Errorf("%d runs are left: %v", len(all.Items), err)
	}
	if one, two := r.marks("host-1"), r.marks("host-2"); one != "site-a/edge-9 gone|" || two != "site-a/edge-9 gone|fan" {
		t.Errorf("host-1 has %q, host-2 has %q", one, two)
	}
}

// TestHostClaimedDuringItsReset checks that the mark stays if somebody has claimed the host by
// other means during the reset.
func TestHostClaimedDuringItsReset(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1))
	r.started = func(run *tekton.PipelineRun) {
		h := &metal3.BareMetalHost{}
		r.get("host-1", h)
		heldByMachine(h)
		r.update(h)
		r.end(run, contract.HostStates{"host-uid-1": contract.HostClean}, "")
	}
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "--yes"), codeFailed, "host-1: it is clean, but somebody has claimed or changed host host-1 meanwhile")
	if got := r.marks("host-1"); !strings.HasPrefix(got, "site-a/edge-9 gone|") {
		t.Errorf("host-1 has %q", got)
	}
}

// TestPretendedReset checks that the command does not trust a run of a user without the right to
// change hosts, even if the run looks like one of this command.
func TestPretendedReset(t *testing.T) {
	o := resetOptions{hosts: []string{"host-1"}, sshSecret: "ssh-key"}
	forged := o.makeResetRun("site-a", "reset-host-1-1")
	forged.Spec.Status = ""
	r := newResets(t, sshKey(), usedHost(1), forged)
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "--yes"), codeFailed, "PipelineRun reset-host-1-1 already resets host-1", "kubectl delete pipelinerun reset-host-1-1")
	if got := r.marks("host-1"); got != "site-a/edge-9 gone|" {
		t.Errorf("host-1 has %q", got)
	}
}

// TestQuarantineOfAUser checks that the reset of a host in quarantine keeps the user's reason.
func TestQuarantineOfAUser(t *testing.T) {
	for _, reason := range []string{"fan", "", "a; before: b"} {
		r := newResets(t, sshKey(), usedHost(1, func(h *metal3.BareMetalHost) { h.Annotations[contract.AnnotationQuarantine] = reason }), usedHost(2))
		ctx, interrupt := context.WithCancel(t.Context())
		r.started = func(run *tekton.PipelineRun) {
			interrupt()
			r.end(run, contract.HostStates{"host-uid-1": contract.HostClean, "host-uid-2": contract.HostClean}, "")
		}
		r.expect(r.run(ctx, "hosts", "reset", "host-1", "host-2", "--yes"), codeInterrupted)
		r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "host-2"), codeDone, "host-1 is clean")
		h := &metal3.BareMetalHost{}
		r.get("host-1", h)
		if diff := cmp.Diff(map[string]string{contract.AnnotationQuarantine: reason}, h.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
	}
}

// TestResetNames checks that names of pods, which contain the name of the run, are not too long, and
// that different hosts give different names.
func TestResetNames(t *testing.T) {
	long := strings.Repeat("rack-1.", 20) + "host"
	seen := map[string]bool{}
	for _, hosts := range [][]string{{"host-1"}, {"host-1", "host-2"}, {"host-1-host-2"}, {long}, {long + "x"}, {long, "x"}, {"a.b"}} {
		name := resetName(hosts, 17)
		if seen[name] || len(name) > 45 || strings.Contains(name, ".") || !strings.HasSuffix(name, "-17") || name != resetName(hosts, 17) {
			t.Errorf("resetName(%v) = %s", hosts, name)
		}
		seen[name] = true
	}
}
