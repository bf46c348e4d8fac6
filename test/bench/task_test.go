//go:build e2e

package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/test/site"
)

// add runs the task kubespray as a run does that adds one worker on a host to a cluster with the
// given nodes, and returns what it has taken.
func add(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, name, host string, nodes []contract.Node) addition {
	t.Helper()
	makeInputs(t, s, p, name, newWorker(t, s, name, host), nodes)
	run := taskRun(s.Namespace, name, p.Spec.Kubespray.Release)
	if err := s.Create(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	processor := make(chan time.Duration, 1)
	go func() { processor <- processorOf(s, run, stop) }()
	done := site.Await(s, &tekton.TaskRunList{}, "the end of "+name, 2*limit, func(r *tekton.TaskRun) bool { return r.Name == name && r.IsDone() })
	close(stop)
	log := s.Kubectl("logs", done.Status.PodName, "--container", "step-run-playbook", "--timestamps")
	if !done.IsSuccessful() {
		t.Fatalf("%s failed: %+v\n%s", name, done.Status.Results, tail(log, 60))
	}
	checkContacts(t, s, name, log)
	ended := done.Status.Steps[0].Terminated
	return addition{runs: 1, total: ended.FinishedAt.Sub(ended.StartedAt.Time), processor: <-processor, phases: parts(t, log)}
}

// oneNode matches the result of a playbook that ran on one node. unreached matches the line of
// a task that did not reach a machine, even if kubespray ignores this, and a recap that counts one.
var (
	oneNode   = regexp.MustCompile(`(?m) 1 node: ok=\d+ changed=\d+ failed=0 unreachable=0 `)
	unreached = regexp.MustCompile(`(?m)^.*(\d unreachable($|[^=])|unreachable=[1-9]).*$`)
)

// checkContacts fails the test if the playbook ran on more than the new node, tried to reach a
// simulated one, or was given the host keys of more machines than the new one and the control plane.
func checkContacts(t *testing.T, s *site.Site, name, log string) {
	t.Helper()
	known := strings.TrimSpace(configMap(t, s, contract.KnownHostsName(name)).Data[contract.KeyKnownHosts])
	if n := len(strings.Split(known, "\n")); n != 2 {
		t.Errorf("%s: the task has the host keys of %d machines, want 2:\n%s", name, n, known)
	}
	if !oneNode.MatchString(log) {
		t.Errorf("%s: the playbook did not run on exactly one node:\n%s", name, tail(log, 20))
	}
	if lines := unreached.FindAllString(log, -1); len(lines) > 0 {
		t.Errorf("%s: the playbook connected to machines that do not exist:\n%s", name, strings.Join(lines, "\n"))
	}
}

// taskRun returns a run of the task kubespray alone, as the Pipeline of a Provisioning runs it.
func taskRun(namespace, name, release string) *tekton.TaskRun {
	operation := contract.OperationOf(contract.OperationAddNodes)
	whole := convert.Make(metav1.ObjectMeta{}, runs.Run{Name: name, Operation: operation, Release: release, SSHSecret: "ssh-key", Timeout: 2 * limit}.Spec()).Spec
	param := func(name, value string) tekton.Param {
		return tekton.Param{Name: name, Value: *tekton.NewStructuredValues(value)}
	}
	pod := whole.TaskRunTemplate.PodTemplate
	pod.AutomountServiceAccountToken = ptr.To(true)
	return &tekton.TaskRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: tekton.TaskRunSpec{
			ServiceAccountName: contract.ServiceAccountName(name, contract.TaskKubespray),
			TaskRef: &tekton.TaskRef{ResolverRef: tekton.ResolverRef{Resolver: "cluster", Params: tekton.Params{
				param("kind", "task"), param("name", taskKubespray().OfRelease(release)), param("namespace", runs.Namespace),
			}}},
			Params: tekton.Params{
				param(contract.ParamProvisioning, name), param("run", name), param(contract.ParamPlaybook, operation.Playbook),
			},
			Workspaces:  whole.Workspaces,
			PodTemplate: pod,
			Timeout:     whole.Timeouts.Tasks,
		},
	}
}

// processorOf reads, once a second, the processor time of the task's pod from its control group on
// this machine, and returns the last value. It ends when stop is closed.
func processorOf(s *site.Site, run *tekton.TaskRun, stop <-chan struct{}) (used time.Duration) {
	next := time.NewTicker(time.Second)
	defer next.Stop()
	path := ""
	for {
		select {
		case <-stop:
			return used
		case <-next.C:
		}
		if path == "" {
			path = controlGroup(s, run.Name)
		}
		if raw, err := os.ReadFile(path); err == nil {
			if now, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64); err == nil {
				used = time.Duration(now)
			}
		}
	}
}

// controlGroup returns the path of the file with the processor time of the task's pod, or an empty
// string as long as the pod does not exist.
func controlGroup(s *site.Site, name string) string {
	pods := &corev1.PodList{}
	if err := s.List(context.Background(), pods, client.InNamespace(s.Namespace), client.MatchingLabels{"tekton.dev/taskRun": name}); err != nil || len(pods.Items) == 0 {
		return ""
	}
	for _, pattern := range []string{"kubepods/pod%s", "kubepods/*/pod%s"} {
		if found, _ := filepath.Glob("/sys/fs/cgroup/cpuacct/" + fmt.Sprintf(pattern, pods.Items[0].UID) + "/cpuacct.usage"); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

func writeTemp(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func tail(text string, lines int) string {
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
