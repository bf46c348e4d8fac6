package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// kubelet answers requests for logs as the API server does. It knows the text of each "pod/container". A text that does not end in a
// newline is of a container that still prints: the rest comes from more.
type kubelet struct {
	mu    sync.Mutex
	texts map[string]string
	more  chan string
	asked []string
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/") // /api/v1/namespaces/site-a/pods/POD/log
	name := parts[len(parts)-2] + "/" + r.URL.Query().Get("container")
	k.mu.Lock()
	text, known := k.texts[name]
	k.asked = append(k.asked, fmt.Sprint(name, " tail ", r.URL.Query().Get("tailLines"), " follow ", r.URL.Query().Get("follow")))
	k.mu.Unlock()
	if !known {
		http.Error(w, "container log is rotated away", http.StatusNotFound)
		return
	}
	_, _ = fmt.Fprint(w, text)
	if r.URL.Query().Get("follow") != "true" || strings.HasSuffix(text, "\n") {
		return
	}
	w.(http.Flusher).Flush()
	for text := range k.more {
		_, _ = fmt.Fprint(w, text)
		w.(http.Flusher).Flush()
	}
}

func (w *terminal) logsFrom(k *kubelet) {
	server := httptest.NewServer(k)
	w.t.Cleanup(server.Close)
	w.config = &rest.Config{Host: server.URL}
}

// stepsOf gives a pod these steps, which have ended or run.
func stepsOf(pod *corev1.Pod, minute int, ended bool, steps ...string) *corev1.Pod {
	pod.UID, pod.CreationTimestamp = types.UID(pod.Name), metav1.NewTime(noon.Add(time.Duration(minute)*time.Minute-time.Hour))
	pod.Spec.Containers = []corev1.Container{{Name: "sidecar"}}
	for _, step := range steps {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "step-" + step})
		status := corev1.ContainerStatus{Name: "step-" + step, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		if ended {
			status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	if ended {
		pod.Status.Phase = corev1.PodSucceeded
	}
	return pod
}

// logged returns a cluster with three runs: the pods of the first are gone, the second has failed, and the third runs. A Backup has a run too.
func logged() (objects []client.Object, text *kubelet, third *tekton.PipelineRun) {
	p := provisioning("edge-1")
	text = &kubelet{texts: map[string]string{}, more: make(chan string)}
	add := func(all ...client.Object) { objects = append(objects, all...) }
	one := runOf(p, contract.OperationInstall, 1, endsWith("Failed", ""))
	add(p, one, failsWith(taskOf(one, "kubespray"), `{"reason":"PlaybookFailed","task":"kubespray","host":"worker-1","message":"no space left"}`))

	two := runOf(p, contract.OperationInstall, 2, endsWith("Failed", ""))
	selectHosts, seed, playbook := taskOf(two, "select-hosts"), taskOf(two, "seed-registry"), taskOf(two, "kubespray")
	selectHosts.Status.PodName = "edge-1-install-2-select-hosts-pod"
	add(two, selectHosts, seed, playbook, stepsOf(podOf(playbook), 2, true, "run-playbook"), stepsOf(podOf(seed), 1, true, "list", "copy"))
	text.texts["edge-1-install-2-seed-registry-pod/step-list"] = "12 images\n"
	text.texts["edge-1-install-2-seed-registry-pod/step-copy"] = "copied\n  \x1b[31mimage\x1b[0m\tdone\n"
	text.texts["edge-1-install-2-kubespray-pod/step-run-playbook"] = "PLAY [all]\nfatal: no space left"

	third = runOf(p, contract.OperationInstall, 3)
	playing := taskOf(third, "kubespray")
	add(third, playing, stepsOf(podOf(playing), 9, false, "run-playbook"))
	text.texts["edge-1-install-3-kubespray-pod/step-run-playbook"] = "PLAY [all]\nTASK [x"

	backup := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "b-1"}, Spec: v1alpha1.BackupSpec{Provisioning: "edge-1"}}
	run := runOf(p, contract.OperationBackup, 1, endsWith("Succeeded", ""))
	run.Name, run.Labels, run.OwnerReferences = "b-1-backup", map[string]string{contract.LabelBackup: "b-1"}, nil
	copying := taskOf(run, "backup")
	copying.Labels = map[string]string{contract.LabelBackup: "b-1", "tekton.dev/pipelineRun": run.Name, "tekton.dev/pipelineTask": "backup"}
	add(backup, run, copying, stepsOf(podOf(copying), 9, true, "backup"))
	text.texts["b-1-backup-backup-pod/step-backup"] = "copied etcd\n"
	other := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "b-3"}, Spec: v1alpha1.BackupSpec{Provisioning: "edge-2"}}
	add(other, &tekton.PipelineRun{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "b-3-backup", Labels: map[string]string{contract.LabelBackup: "b-3"}}})
	return objects, text, third
}

func TestLogs(t *testing.T) {
	for name, tc := range map[string]struct {
		args string
		code int
		want string
	}{
		"steps": {"logs edge-1 --run 2", codeDone, "[seed-registry : list] 12 images\n[seed-registry : copy] copied\n[seed-registry : copy]   image\tdone\n" +
			"[kubespray] PLAY [all]\n[kubespray] fatal: no space left\n[select-hosts] its pod edge-1-install-2-select-hosts-pod was deleted, and its log with it\n"},
		"by name":    {"logs edge-1 --run edge-1-install-2 --task kubespray", codeDone, "[kubespray] PLAY [all]\n[kubespray] fatal: no space left\n"},
		"the newest": {"logs --tail=60", codeDone, "[kubespray] PLAY [all]\n[kubespray] TASK [x\n"},
		"gone": {"logs edge-1 --run 1", codeFailed, "error: there is no log of run edge-1-install-1 any more: it was in the run's pods, and they are deleted. " +
			"The result of the run is Failed (PlaybookFailed) in kubespray on worker-1: no space left\nRuns with pods: edge-1-install-2, edge-1-install-3\n"},
		"never was":          {"logs edge-1 --run 7", codeFailed, "error: there is no run 7 of edge-1: the controller has deleted it, and its log with it, or it never was. There are edge-1-install-1, edge-1-install-2, edge-1-install-3\n"},
		"other task":         {"logs edge-1 --task select-hosts", codeNotYet, "error: run edge-1-install-3 has printed nothing yet. Follow it:\n  kubectl bpa logs edge-1 -n site-a --run 3 -f\n"},
		"of a Backup":        {"logs edge-1 --run b-1-backup", codeDone, "[backup] copied etcd\n"},
		"of another cluster": {"logs edge-1 --run b-3-backup", codeFailed, "error: there is no run b-3-backup: edge-1 has no Backup b-3. List its Backups:\n  kubectl bpa backups edge-1 -n site-a\n"},
		"no Backup":          {"logs edge-1 --run b-2-backup", codeFailed, "error: there is no run b-2-backup: edge-1 has no Backup b-2. List its Backups:\n  kubectl bpa backups edge-1 -n site-a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, text, _ := logged()
			w := newStopped(t, objects...)
			w.logsFrom(text)
			code := w.run(t.Context(), strings.Fields(tc.args)...)
			if got := w.text() + w.errOut.String(); code != tc.code || got != tc.want {
				t.Errorf("exit code %d, want %d; printed:\n%s\nwant:\n%s", code, tc.code, got, tc.want)
			}
			if name == "the newest" && !slices.Contains(text.asked, "edge-1-install-3-kubespray-pod/step-run-playbook tail 60 follow ") {
				t.Errorf("asked for %q", text.asked)
			}
		})
	}
	w := newStopped(t, provisioning("edge-1"))
	w.expect(w.run(t.Context(), "logs", "edge-1"), codeNotYet, "edge-1 has no run", "kubectl bpa status edge-1 -n site-a")
}

// TestLogsOfAPodThatDoesNotStart: a pod without a log says why.
func TestLogsOfAPodThatDoesNotStart(t *testing.T) {
	p := provisioning("edge-1")
	run := runOf(p, contract.OperationInstall, 1)
	task := taskOf(run, "kubespray")
	pod := stepsOf(podOf(task), 1, false, "run-playbook")
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}}
	w := newStopped(t, p, run, task, pod)
	w.logsFrom(&kubelet{})
	w.expect(w.run(t.Context(), "logs", "edge-1"), codeDone, "[kubespray] pod edge-1-install-1-kubespray-pod: container step-run-playbook waits (ImagePullBackOff): Back-off pulling image")
}

// TestLogsFollow: -f shows a step while it prints, then the task that begins later, and ends with the run.
func TestLogsFollow(t *testing.T) {
	objects, text, run := logged()
	w := newStopped(t, objects...)
	w.logsFrom(text)
	code := w.start("logs", "edge-1", "-f")
	w.await("[kubespray] PLAY [all]")
	for range 3 {
		w.awaitWatch()
	}
	text.more <- "] ok\n"
	w.await("[kubespray] TASK [x] ok")
	close(text.more)
	end := func(pod *corev1.Pod) {
		t.Helper()
		pod.Status.Phase = corev1.PodSucceeded
		if err := w.cluster.Status().Update(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	text.mu.Lock()
	text.texts["edge-1-install-3-collect-kubeconfig-pod/step-sign-certificate"] = "signed\n"
	text.mu.Unlock()
	collect := taskOf(run, "collect-kubeconfig")
	next := stepsOf(podOf(collect), 20, false, "sign-certificate")
	for _, o := range []client.Object{collect, next} {
		if err := w.cluster.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.await("[collect-kubeconfig] signed")
	playing := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: "edge-1-install-3-kubespray-pod"}}
	if err := w.cluster.Get(t.Context(), client.ObjectKeyFromObject(playing), playing); err != nil {
		t.Fatal(err)
	}
	end(playing)
	set(w, run, endsWith("Succeeded", ""))
	select {
	case got := <-code:
		t.Fatalf("ended with the exit code %d while a pod may still print", got)
	default:
	}
	end(next)
	w.expect(<-code, codeDone, "Run edge-1-install-3 has ended: Succeeded")
	if strings.Count(w.text(), "PLAY [all]") != 1 {
		t.Errorf("a step was shown twice:\n%s", w.text())
	}
}

// TestLogsFollowOfARunThatIsDeleted ends, because its pods go with it.
func TestLogsFollowOfARunThatIsDeleted(t *testing.T) {
	objects, text, run := logged()
	w := newStopped(t, objects...)
	w.logsFrom(text)
	code := w.start("logs", "edge-1", "-f")
	w.await("[kubespray] PLAY [all]")
	for range 3 {
		w.awaitWatch()
	}
	if err := w.cluster.Delete(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	w.expect(<-code, codeFailed, "run edge-1-install-3 was deleted")
	close(text.more)
}
