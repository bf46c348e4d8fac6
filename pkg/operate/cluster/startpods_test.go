package cluster_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/podstart"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// recorded returns the UIDs of the hosts in the record.
func recorded(w *kubespraytest.Fixture) []string {
	w.T.Helper()
	var record contract.Installed
	if text := w.Installed.Data[contract.KeyInstalled]; text != "" {
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			w.T.Fatal(err)
		}
	}
	return session.HostUIDs(record.Nodes)
}

// A run proves that the nodes which it has installed start pods, and no other ones.
func TestNodesOfTheRunStartPods(t *testing.T) {
	w := kubespraytest.NewReplacement(t, 3)
	if diff := cmp.Diff([][]string{{"master-1", "worker-1", "worker-2"}}, w.Starts); diff != "" {
		t.Errorf("pods of the installation (-want +got):\n%s", diff)
	}
	w.Starts = nil
	w.In.Request.Operation = contract.OperationAddNodes
	if _, err := w.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &w.Log)
	}
	if diff := cmp.Diff([][]string{{"worker-3"}}, w.Starts); diff != "" {
		t.Errorf("pods of the addition (-want +got):\n%s", diff)
	}
}

// A new node that is Ready and starts no pod is no node of the cluster, and the run fails.
func TestANodeThatStartsNoPod(t *testing.T) {
	for name, install := range map[string]bool{"installation": true, "addition": false} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 2)
			if !install {
				w = kubespraytest.NewReplacement(t, 2)
				w.In.Request.Operation = contract.OperationAddNodes
			}
			before := recorded(w)
			w.Podless = map[string]string{"worker-2": kubespraytest.NoPlugin}
			_, err := w.Run()
			if err == nil {
				t.Fatal("the run succeeded")
			}
			if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-2" || !strings.Contains(f.Message, "node worker-2 is Ready, but starts no pod: "+kubespraytest.NoPlugin) {
				t.Errorf("failure %+v", f)
			}
			if got := recorded(w); !slices.Equal(got, before) {
				t.Errorf("record %v, was %v", got, before)
			}
			w.Podless = nil
			w.Stay(w.In.Nodes...)
			if _, err := w.Run(); err != nil || !slices.Contains(recorded(w), "uid-3") {
				t.Errorf("the next attempt: %v, record %v", err, recorded(w))
			}
		})
	}
}

// No node can start a pod before the user has installed the pod network.
func TestNoPodWithoutANetwork(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.Request.NetworkPlugin = "cni"
	if _, err := w.Run(); err != nil || len(w.Starts) > 0 {
		t.Errorf("%v, pods on %v", err, w.Starts)
	}
}

// health sets which nodes are Ready before the playbook and after it.
func health(w *kubespraytest.Fixture, before, after map[string]string) {
	objects := func(state map[string]string) (all []string) {
		for _, n := range w.In.Nodes {
			if state[n.Name] != "" {
				all = append(all, sessiontest.NodeJSON(n.Name, state[n.Name], "NodeStatusUnknown"))
			}
		}
		return all
	}
	w.Cluster = func(int) string { return sessiontest.List(objects(before)...) }
	w.Kubectl = func() string {
		return sessiontest.List(append(objects(after), sessiontest.PodJSON("coredns-1", "master-1", "True", ""))...)
	}
}

// A worker that was sick before an addition does not make it fail, and does not keep the new node out of the
// record. One that is sick only after it does make it fail. The new node is recorded all the same.
func TestASickNodeBesideTheRun(t *testing.T) {
	ready := map[string]string{"master-1": "True", "worker-1": "True"}
	sick := map[string]string{"master-1": "True", "worker-1": "Unknown"}
	with := func(state map[string]string) map[string]string {
		return map[string]string{"master-1": state["master-1"], "worker-1": state["worker-1"], "worker-2": "True"}
	}
	for name, tc := range map[string]struct {
		before, after map[string]string
		fails         bool
	}{
		"sick before":     {sick, with(sick), false},
		"sick afterwards": {ready, with(sick), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.NewReplacement(t, 2)
			w.In.Request.Operation, w.In.HealthLimit = contract.OperationAddNodes, 300*time.Millisecond
			health(w, tc.before, tc.after)
			_, err := w.Run()
			if (err != nil) != tc.fails {
				t.Fatalf("error %v\n%s", err, &w.Log)
			}
			if tc.fails {
				if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-1" {
					t.Errorf("failure %+v", f)
				}
			}
			if !tc.fails && !strings.Contains(w.Log.String(), "were not Ready before the run, which does not concern them: worker-1") {
				t.Errorf("the log does not name the sick node:\n%s", &w.Log)
			}
			if !slices.Contains(recorded(w), "uid-3") {
				t.Errorf("record %v", recorded(w))
			}
		})
	}
}

// The same for a removal.
func TestASickNodeBesideARemoval(t *testing.T) {
	l := kubespraytest.NewLiving(t, 3)
	l.In.Request.Remove.Nodes, l.In.HealthLimit = []string{"worker-1"}, time.Second
	l.Nodes["worker-3"] = false
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectMembers("master-1", "worker-2", "worker-3")
	if len(l.Starts) > 0 {
		t.Errorf("pods on %v", l.Starts)
	}
}

// The check itself. The nodes do not name the image of the sandboxes, so crictl does.
func TestStartPodsOnTheCluster(t *testing.T) {
	w := kubespraytest.New(t, 1)
	var mu sync.Mutex
	var did []string
	var pods []runtime.Object
	w.Commands = func(command string, stdout, _ io.Writer) (int, bool) {
		found := strings.Contains(command, "crictl images")
		if found {
			fmt.Fprint(stdout, `{"images":[{"repoTags":["registry.k8s.io/pause:3.10"]}]}`)
		}
		return 0, found
	}
	w.API.Objects = func(apitest.Call) ([]runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		return append(slices.Clone(pods), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "e"}, Type: corev1.EventTypeWarning,
			InvolvedObject: corev1.ObjectReference{Name: "pod-of-worker-1"}, Reason: "FailedCreatePodSandBox", Message: "no plugin"}), nil
	}
	w.API.Change = func(call apitest.Call) error {
		mu.Lock()
		defer mu.Unlock()
		did = append(did, call.Verb)
		if call.Verb != "create" {
			return nil
		}
		p := &corev1.Pod{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(call.Body, p); err != nil {
			return err
		}
		p.Name = "pod-of-" + p.Spec.NodeName
		if p.Spec.NodeName == "master-1" {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		pods = append(pods, p)
		return nil
	}
	ports := w.Ports()
	ports.StartPods = podstart.Check
	w.In.HealthLimit = time.Second
	_, err := kubespray.Run(t.Context(), w.In, ports)
	if err == nil {
		t.Fatal("the run succeeded")
	}
	if f := task.FailureOf(err); f.Host != "worker-1" || !strings.Contains(f.Message, "starts no pod: FailedCreatePodSandBox: no plugin") {
		t.Errorf("failure %+v", f)
	}
	if want := []string{"deletecollection", "create", "create", "deletecollection"}; !slices.Equal(did, want) {
		t.Errorf("changes %v, want %v", did, want)
	}
}
