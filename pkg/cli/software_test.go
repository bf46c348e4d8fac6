package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// softwareFor returns a Software that the controller has not seen.
func softwareFor(name, cluster string) *v1alpha1.Software {
	w := &v1alpha1.Software{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: name, UID: types.UID(name), Generation: 1}}
	w.Spec.Cluster = cluster
	return w
}

// on gives a Software a node with packages. A package is "name wanted installed state", where "-" is
// empty, and the rest is its message.
func on(w *v1alpha1.Software, node, message string, packages ...string) *v1alpha1.Software {
	n := v1alpha1.SoftwareNodeStatus{Name: node, Message: message, Checked: &metav1.Time{Time: noon.Add(-time.Hour)}}
	for _, text := range packages {
		f := append(strings.SplitN(text, " ", 5), "")
		empty := func(s string) string { return strings.TrimSuffix(s, "-") }
		n.Packages = append(n.Packages, v1alpha1.SoftwarePackageStatus{
			Name: f[0], Wanted: empty(f[1]), Installed: empty(f[2]), State: f[3], Message: f[4], Since: &metav1.Time{Time: noon.Add(-2 * time.Hour)},
		})
	}
	w.Status.Nodes = append(w.Status.Nodes, n)
	return w
}

// judged gives a Software the verdict of the controller.
func judged(w *v1alpha1.Software, installed corev1.ConditionStatus, reason, message, summary string) *v1alpha1.Software {
	w.Status.ObservedGeneration, w.Status.Cluster, w.Status.Summary = w.Generation, w.Spec.Cluster, summary
	w.Status.InitializeConditions()
	w.Status.Mark(v1alpha1.ConditionSoftwareAccepted, corev1.ConditionTrue, "Accepted", "")
	w.Status.Mark(v1alpha1.ConditionSoftwareInstalled, installed, reason, message)
	return w
}

const brokenInstall = "install.sh ended with exit status 3:\nchecking the kernel\n\x1b[31mno headers for 6.1.0-28\x1b[0m\n"

// withFailures returns two Softwares of edge-1. Both request curl.
func withFailures() []*v1alpha1.Software {
	drivers := softwareFor("drivers", "edge-1")
	on(drivers, "worker-1", "", "qat-driver 1.7 - Failed "+brokenInstall, "curl - 8.5.0-2 Installed")
	on(drivers, "worker-2", "it does not answer (ssh: connect to 10.60.0.12:22: no route to host); it is caught up when it is Ready again",
		"qat-driver 1.7 - Pending", "curl - - Pending")
	on(drivers, "worker-3", "", "qat-driver 1.7 - Failed "+brokenInstall, "curl - 8.5.0-2 Installed")
	judged(drivers, corev1.ConditionFalse, "Failed", "qat-driver on worker-1: install.sh ended with exit status 3", "2/6")
	tools := softwareFor("tools", "edge-1")
	on(tools, "worker-1", "", "curl - 8.5.0-2 Installed", "jq 1.7 1.6 Outdated the depot has 1.7", "htop - 3.0 Drifted 3.2 was installed")
	judged(tools, corev1.ConditionFalse, "Drifted", "htop on worker-1 was changed by hand", "2/3")
	return []*v1alpha1.Software{drivers, tools}
}

// TestSoftware shows the table of a cluster, of all clusters, and what there is to show without packages.
func TestSoftware(t *testing.T) {
	other := judged(on(softwareFor("other", "edge-2"), "m-1", "", "vim - 9.0 Installed"), corev1.ConditionTrue, "Installed", "", "1/1")
	unseen, lost := softwareFor("unseen", "edge-3"), softwareFor("lost", "")
	for name, r := range map[string]struct {
		args []string
		all  []*v1alpha1.Software
	}{
		"failures":   {[]string{"edge-1"}, append(withFailures(), other)},
		"all":        {nil, append(withFailures(), other, unseen, lost)},
		"yaml":       {[]string{"edge-2", "-o", "yaml"}, append(withFailures(), other)},
		"json-none":  {[]string{"-o", "json"}, nil},
		"none":       {nil, nil},
		"none-of-it": {[]string{"edge-1"}, []*v1alpha1.Software{other}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStopped(t, softwareObjects(r.all, hasCluster(provisioning("edge-1")), hasCluster(provisioning("edge-2")))...)
			w.golden("software/"+name, w.run(t.Context(), append([]string{"software"}, r.args...)...))
		})
	}
}

// The page of a cluster also says what its next run waits for, and why the last one failed.
func TestSoftwareRuns(t *testing.T) {
	p := hasCluster(provisioning("edge-1"))
	isReady(p)
	p.Status.Software = &v1alpha1.SoftwareRunStatus{
		Next: "install curl on worker-2", Waiting: "the next run starts at 2026-11-21T12:05:00Z", Run: "edge-1-software-4", Attempt: 2,
		Failure: &v1alpha1.FailureStatus{Reason: "DrainBlocked", Task: contract.TaskInstallSoftware, Host: "worker-2", Message: "pod web-1 did not leave", Hint: "delete the pod"},
	}
	w := newStopped(t, softwareObjects(withFailures(), p)...)
	w.golden("software/runs", w.run(t.Context(), "software", "edge-1"))
	w = newStopped(t, softwareObjects(withFailures(), p)...)
	w.expect(w.run(t.Context(), "status", "edge-1"), codeDone, "run edge-1-software-4 failed: DrainBlocked in install-software on worker-2")
}

func softwareObjects(all []*v1alpha1.Software, more ...client.Object) []client.Object {
	for _, w := range all {
		more = append(more, w)
	}
	return more
}

// The label "cluster" of a Provisioning is a name of its cluster, as for ICN's samples. A Software without a
// cluster belongs to none, also not to a Provisioning without the label.
func TestSoftwareOfALabel(t *testing.T) {
	p, q := hasCluster(provisioning("edge-1")), hasCluster(provisioning("edge-2"))
	p.Labels = map[string]string{v1alpha1.LabelCluster: "cluster-abc"}
	labelled := softwareFor("icn", "")
	labelled.Labels = map[string]string{v1alpha1.LabelCluster: "cluster-abc"}
	w := newStopped(t, p, q, labelled, softwareFor("lost", ""))
	w.expect(w.run(t.Context(), "software", "edge-1"), codeDone, "icn ")
	w.expect(w.run(t.Context(), "software", "edge-2"), codeDone, "No Software in namespace site-a is for edge-2")
	if strings.Contains(w.text(), "lost") {
		t.Errorf("a Software without a cluster is shown:\n%s", w.text())
	}
}

// TestRequestSoftware checks the text of each request and the annotation that it writes.
func TestRequestSoftware(t *testing.T) {
	const at = "2026-11-21T12:00:00Z"
	for name, r := range map[string]struct {
		flag   string
		change func(*v1alpha1.Provisioning)
		none   bool // there is no Software
		want   string
	}{
		"check":  {flag: "--check", want: at + " check"},
		"update": {flag: "--update", want: at + " update"},
		"retry":  {flag: "--retry", want: at},
		"paused": {flag: "--retry", change: func(p *v1alpha1.Provisioning) { p.Spec.Paused = true }, want: at},
		"running": {flag: "--retry", want: at, change: func(p *v1alpha1.Provisioning) {
			isRunning(p, runOf(p, contract.OperationAddNodes, 1))
		}},
		"not-installed": {flag: "--retry", change: func(p *v1alpha1.Provisioning) { p.Status.InstalledDigest = "" }},
		"no-software":   {flag: "--check", none: true},
		"deleted": {flag: "--retry", change: func(p *v1alpha1.Provisioning) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: created}, []string{"f"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := hasCluster(provisioning("edge-1"))
			isReady(p)
			if r.change != nil {
				r.change(p)
			}
			objects := []client.Object{p, softwareFor("other", "edge-2")}
			if !r.none {
				objects = append(objects, softwareFor("drivers", "edge-1"))
			}
			w := newStopped(t, objects...)
			w.golden("software/request-"+name, w.run(t.Context(), "software", "edge-1", r.flag))
			set(w, p, func(p *v1alpha1.Provisioning) {
				if got := p.Annotations[contract.AnnotationSoftware]; got != r.want {
					t.Errorf("annotation %q, want %q", got, r.want)
				}
			})
		})
	}
}

// With --wait, the state that the Softwares have at the time of the request is not its result, also if
// no run is active yet. The command ends with the run for the request, also if a node has not answered it.
func TestSoftwareFollow(t *testing.T) {
	failure := &v1alpha1.FailureStatus{Reason: "SSHDenied", Task: contract.TaskInstallSoftware, Message: "denied", Hint: "store a key"}
	for name, r := range map[string]struct {
		end     func(*v1alpha1.Software)
		failure *v1alpha1.FailureStatus
		code    int
		says    string
	}{
		"repaired": {func(w *v1alpha1.Software) {
			w.Status.Nodes = nil
			judged(on(w, "worker-1", "", "curl - 8.5.0-2 Installed"), corev1.ConditionTrue, "Installed", "", "1/1")
		}, nil, codeDone, "1 of 1 installed\n"},
		"still": {func(w *v1alpha1.Software) {
			judged(w, corev1.ConditionFalse, "Failed", "curl on worker-1: no space left", "0/1")
		}, nil, codeFailed, "software drivers of edge-1 is not ready: Failed: curl on worker-1: no space left"},
		"silent": {func(w *v1alpha1.Software) {
			w.Status.Nodes = nil
			judged(on(w, "worker-1", "no route to host", "curl - - Pending"), corev1.ConditionUnknown, "Waiting", "worker-1: no route to host", "0/1")
		}, nil, codeNotYet, "software drivers of edge-1 is not complete yet: worker-1: no route to host"},
		"fails before it looks": {func(*v1alpha1.Software) {}, failure, codeFailed, "run edge-1-software-2 for the software of edge-1 failed: SSHDenied in install-software"},
	} {
		t.Run(name, func(t *testing.T) {
			p := hasCluster(provisioning("edge-1"))
			isReady(p)
			p.Status.Software = &v1alpha1.SoftwareRunStatus{Asked: "an earlier one"}
			s := judged(on(softwareFor("drivers", "edge-1"), "worker-1", "", "curl - - Failed no space left"), corev1.ConditionFalse, "Failed", "x", "0/1")
			w := newTerminal(t, p, s)
			code := w.start("software", "edge-1", "--retry", "--wait")
			w.await("waiting for the controller; 0 of 1 installed, 1 Failed")
			set(w, p, func(p *v1alpha1.Provisioning) { isRunning(p, runOf(p, contract.OperationSoftware, 2)) })
			w.await("edge-1-software-2")
			set(w, s, r.end)
			set(w, p, func(p *v1alpha1.Provisioning) {
				p.Status.Run.CompletionTime = &metav1.Time{Time: noon}
				p.Status.Software = &v1alpha1.SoftwareRunStatus{Run: "edge-1-software-2", Asked: p.Annotations[contract.AnnotationSoftware], Failure: r.failure}
			})
			w.expect(<-code, r.code, r.says)
		})
	}
}

// The status of a large cluster leaves out rows, first those of installed packages.
func TestSoftwareOmitsRows(t *testing.T) {
	p := hasCluster(provisioning("edge-1"))
	isReady(p)
	s := judged(on(softwareFor("drivers", "edge-1"), "worker-1", "", "curl - - Failed no space left"), corev1.ConditionFalse, "Failed", "x", "19999/20000")
	s.Status.Omitted = 19999
	none := judged(softwareFor("drivers", "edge-1"), corev1.ConditionTrue, "Installed", "", "20000/20000")
	none.Status.Omitted = 20000
	w := newStopped(t, p, s)
	w.expect(w.run(t.Context(), "software", "edge-1"), codeDone, "0 of 1 installed, 1 Failed, 19999 more not listed; worker-1: curl: no space left")
	w = newStopped(t, p, none)
	w.expect(w.run(t.Context(), "software", "edge-1"), codeDone, "20000 installed, none of them listed")
}

// While no node is alive, the command says what the request waits for.
func TestSoftwareFollowWithoutNodes(t *testing.T) {
	p := hasCluster(provisioning("edge-1"))
	isReady(p)
	p.Status.Software = &v1alpha1.SoftwareRunStatus{Waiting: "no node is alive"}
	s := judged(on(softwareFor("drivers", "edge-1"), "worker-1", "", "curl - 8.5.0-2 Installed"), corev1.ConditionTrue, "Installed", "", "1/1")
	w := newStopped(t, p, s)
	w.expect(w.run(t.Context(), "software", "edge-1", "--check", "-f", "--timeout=20ms"), codeTimeout, "no node is alive; 1 of 1 installed", "timeout of 20ms")
}

// Without a request, the command waits only for what the controller has not finished.
func TestSoftwareFollowWithoutARequest(t *testing.T) {
	p := hasCluster(provisioning("edge-1"))
	isReady(p)
	s := judged(on(softwareFor("drivers", "edge-1"), "worker-1", "", "curl - 8.5.0-2 Installed"), corev1.ConditionTrue, "Installed", "", "1/1")
	w := newStopped(t, p, s)
	w.expect(w.run(t.Context(), "software", "edge-1", "-f"), codeDone, "1 of 1 installed")
	set(w, s, func(s *v1alpha1.Software) {
		s.Status.Mark(v1alpha1.ConditionSoftwareInstalled, corev1.ConditionUnknown, "Waiting", "worker-1 does not answer")
	})
	w.expect(w.run(t.Context(), "software", "edge-1", "-f", "--timeout=20ms"), codeTimeout, "timeout of 20ms: 1 of 1 installed", "worker-1 does not answer")
}

func TestSoftwareRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"exclude each other":         {"edge-1", "--check", "--retry"},
		"need NAME":                  {"--check"},
		"the formats are json":       {"edge-1", "-o", "xml"},
		"shows the present state":    {"edge-1", "-o", "yaml", "--check"},
		"--timeout needs --wait":     {"edge-1", "--timeout=1s"},
		"--timeout is -1s: give a p": {"edge-1", "-f", "--timeout=-1s"},
	} {
		w := newStopped(t)
		w.expect(w.run(t.Context(), append([]string{"software"}, args...)...), codeUsage, want)
	}
}

// TestStatusOfSoftware: the page about a Provisioning has one line for its Softwares, with the first problem.
func TestStatusOfSoftware(t *testing.T) {
	p := hasCluster(provisioning("edge-1"))
	isReady(p)
	w := newStopped(t, softwareObjects(withFailures(), p)...)
	w.golden("status/software", w.run(t.Context(), "status", "edge-1"))
	w = newStopped(t, p, softwareFor("other", "edge-2"))
	if w.expect(w.run(t.Context(), "status", "edge-1"), codeDone); strings.Contains(w.text(), "software") {
		t.Errorf("the page shows the software of another cluster:\n%s", w.text())
	}
}
