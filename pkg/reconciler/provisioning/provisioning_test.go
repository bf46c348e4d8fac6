package provisioning

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgotesting "k8s.io/client-go/testing"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

const setFinalizer = `patch provisionings edge-1 {"metadata":{"finalizers":["bpa.akraino.org/provisioning"],"resourceVersion":""}}`

// ask lists the calls with which the controller asks the API server itself. The calls before a run
// starts and the calls during a deletion are equal.
var ask = []string{"list pods", "list pipelineruns", "list taskruns"}

// askDeleting are the calls of each reconcile of a deletion.
var askDeleting = append([]string{"get namespaces site", ask[0], "get configmaps edge-1-installed"}, ask[1:]...)

// askAll are the calls before hosts are released on which nothing was installed.
var askAll = append([]string{ask[0], "get configmaps edge-1-installed", "get configmaps edge-1-software"}, ask[1:]...)

func TestReconcile(t *testing.T) {
	unvisited := edge(func(p *v1alpha1.Provisioning) { p.Finalizers = nil })
	active := run(edge(), 1)
	foreign := run(edge(func(p *v1alpha1.Provisioning) { p.UID = "earlier" }), 1)
	labelled := func(phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "worker", Labels: map[string]string{contract.LabelCluster: name}},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	done := run(edge(), 1, ended(corev1.ConditionFalse, "Cancelled"))
	retried := func(p *v1alpha1.Provisioning) { p.Annotations = map[string]string{contract.AnnotationRetry: "a"} }
	cancelled := run(edge(), 1, func(pr *tekton.PipelineRun) { pr.Spec.Status = tekton.PipelineRunSpecStatusCancelled }, ended(corev1.ConditionFalse, "Cancelled"))
	stopping := child(cancelled.DeepCopy(), contract.TaskKubespray, corev1.ConditionUnknown, nil)

	for _, row := range []struct {
		name  string
		key   string
		hosts *fakeHosts
		world []runtime.Object // in the caches and at the API server
		live  []runtime.Object // only at the API server, because the caches are stale
		fail  string           // verb and resource of the call that fails
		// writes are the expected calls that are not reads. reads are the expected reads; nil: not
		// checked.
		writes, reads []string
		reason        string // of Ready afterwards
		events        []string
		released      []string
		err           string // a part of the error; "again": no error, but another reconcile after a time
	}{{
		name: "an invalid key is dropped",
		key:  "too/many/parts",
	}, {
		name: "a deleted Provisioning needs nothing",
		key:  at,
	}, {
		name:   "the first visit sets the finalizer and reports what is missing",
		world:  []runtime.Object{unvisited},
		hosts:  &fakeHosts{},
		writes: []string{setFinalizer, "update provisionings/status edge-1"},
		reads:  []string{},
		reason: "HostsNotAvailable",
		events: []string{"Normal FinalizerUpdate", "Warning HostsNotAvailable master-1"},
	}, {
		name:   "without the key to the hosts nothing starts",
		world:  []runtime.Object{edge()},
		writes: []string{"update provisionings/status edge-1"},
		reads:  []string{"get secrets ssh-key"},
		reason: "SSHKeyMissing",
		events: []string{"Warning SSHKeyMissing Secret ssh-key"},
	}, {
		name:  "with hosts and key a run starts, the run last",
		world: []runtime.Object{edge(), sshKey()},
		writes: append(createsOfTasks(),
			"create configmaps edge-1-installed", "create configmaps edge-1-known-hosts", "create configmaps edge-1-progress",
			"create configmaps edge-1-run-1-out", "create configmaps edge-1-run-1", "create secrets edge-1-kubeconfig-key", "create secrets edge-1-nodes-ssh-key",
			"create pipelineruns edge-1-install-1", "update provisionings/status edge-1",
		),
		reason: "Starting",
	}, {
		name:   "a run that cannot be created is retried, and the status shows the reason",
		world:  []runtime.Object{edge(), sshKey()},
		fail:   "create pipelineruns",
		err:    "create PipelineRun edge-1-install-1: no",
		writes: nil,
		reason: "Starting",
		events: []string{"Warning InternalError create PipelineRun"},
	}, {
		name:   "a run that the cache does not show yet is not started twice",
		world:  []runtime.Object{edge(), sshKey()},
		live:   []runtime.Object{active},
		writes: []string{"update provisionings/status edge-1"},
		reason: "Starting",
		err:    "again",
	}, {
		name:   "an object of the same name with another owner is not changed",
		world:  []runtime.Object{edge(), sshKey()},
		live:   []runtime.Object{&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "edge-1-seed-registry"}}},
		writes: []string{"create serviceaccounts edge-1-seed-registry", "update provisionings/status edge-1"},
		reason: "Starting",
		err:    "again",
	}, {
		name:   "runs of an earlier Provisioning of this name must be gone first",
		world:  []runtime.Object{edge(), sshKey(), foreign},
		writes: []string{"update provisionings/status edge-1"},
		reads:  []string{},
		reason: "EarlierRunsNotGone",
		events: []string{"Normal EarlierRunsNotGone"},
		err:    "again",
	}, {
		name:   "pods of an earlier run must be gone first",
		world:  []runtime.Object{edge(), sshKey()},
		live:   []runtime.Object{labelled(corev1.PodRunning)},
		writes: []string{"update provisionings/status edge-1"},
		reason: "Starting",
		err:    "again",
	}, {
		name:   "after a retry of a cancelled run, its pods must have ended first",
		world:  []runtime.Object{edge(retried), sshKey(), cancelled},
		hosts:  held(),
		live:   []runtime.Object{labelled(corev1.PodRunning)},
		writes: []string{"update provisionings/status edge-1"},
		reason: "Starting",
		events: []string{"Normal RunStarted", "Warning RunCancelled"},
		err:    "again",
	}, {
		name:   "and its TaskRuns, which could still create a pod",
		world:  []runtime.Object{edge(retried), sshKey(), cancelled},
		hosts:  held(),
		live:   []runtime.Object{stopping},
		writes: []string{"update provisionings/status edge-1"},
		reason: "Starting",
		events: []string{"Normal RunStarted", "Warning RunCancelled"},
		err:    "again",
	}, {
		name:  "then the next run starts",
		world: []runtime.Object{edge(retried), sshKey(), cancelled},
		hosts: held(),
		live:  []runtime.Object{labelled(corev1.PodFailed)},
		writes: append(createsOfTasks(),
			"create configmaps edge-1-installed", "create configmaps edge-1-known-hosts", "create configmaps edge-1-progress",
			"create configmaps edge-1-run-2-out", "create configmaps edge-1-run-2", "create secrets edge-1-kubeconfig-key", "create secrets edge-1-nodes-ssh-key",
			"create pipelineruns edge-1-install-2", "update provisionings/status edge-1",
		),
		reason: "Starting",
		events: []string{"Normal RunStarted", "Warning RunCancelled"},
	}, {
		name:   "without a retry, a cancelled run is not repeated",
		world:  []runtime.Object{edge(), sshKey(), cancelled},
		hosts:  held(),
		writes: []string{"update provisionings/status edge-1"},
		reads:  []string{},
		reason: "RunCancelled",
		events: []string{"Normal RunStarted", "Warning RunCancelled"},
	}, {
		name:   "a host list that fails is tried again",
		world:  []runtime.Object{edge()},
		hosts:  &fakeHosts{err: errors.New("no hosts today")},
		err:    "no hosts today",
		reads:  []string{},
		reason: "-",
		writes: []string{"update provisionings/status edge-1"},
		events: []string{"Warning InternalError"},
	}, {
		name:   "deletion stops the run first",
		world:  []runtime.Object{edge(deleting), active},
		hosts:  held(),
		writes: []string{`patch pipelineruns edge-1-install-1 {"spec":{"status":"Cancelled"}}`, "update provisionings/status edge-1"},
		reads:  askDeleting,
		reason: "Deleting",
		events: []string{"Normal RunStarted", "Normal Deleting stopping run"},
		err:    "again",
	}, {
		name:   "deletion keeps the hosts as long as a pod runs, whatever the caches say",
		world:  []runtime.Object{edge(deleting)},
		live:   []runtime.Object{done, labelled(corev1.PodRunning)},
		hosts:  held(),
		writes: []string{"update provisionings/status edge-1"},
		reads:  askDeleting,
		reason: "Deleting",
		events: []string{"Normal RunStarted", "Normal Deleting the hosts stay claimed"},
		err:    "again",
	}, {
		name:   "deletion stops a user's copy of a run, also between two tasks, when it has neither TaskRun nor pod",
		world:  []runtime.Object{edge(deleting), foreign},
		hosts:  held(),
		writes: []string{`patch pipelineruns edge-1-install-1 {"spec":{"status":"Cancelled"}}`, "update provisionings/status edge-1"},
		reads:  askDeleting,
		reason: "Deleting",
		events: []string{"Normal Deleting stopping run"},
		err:    "again",
	}, {
		name: "deletion keeps the hosts until such a run has ended",
		world: []runtime.Object{edge(deleting), run(edge(func(p *v1alpha1.Provisioning) { p.UID = "earlier" }), 1,
			func(pr *tekton.PipelineRun) { pr.Spec.Status = tekton.PipelineRunSpecStatusCancelled })},
		hosts:  held(),
		writes: []string{"update provisionings/status edge-1"},
		reads:  askDeleting,
		reason: "Deleting",
		events: []string{"Normal Deleting run edge-1-install-1 is stopping"},
		err:    "again",
	}, {
		name:   "hosts stay claimed while such a run that the caches do not have is between two tasks",
		world:  []runtime.Object{edge(wants(64))},
		live:   []runtime.Object{foreign},
		hosts:  held(),
		writes: []string{"update provisionings/status edge-1"},
		reads:  askAll,
		reason: "GivingBackHosts",
		events: []string{"Normal GivingBackHosts"},
		err:    "again",
	}, {
		name:     "deletion releases the hosts once all pods have ended, and lets go",
		world:    []runtime.Object{edge(deleting), done},
		live:     []runtime.Object{labelled(corev1.PodSucceeded)},
		hosts:    held(),
		writes:   []string{`patch provisionings edge-1 {"metadata":{"finalizers":[],"resourceVersion":""}}`},
		reads:    askDeleting,
		reason:   "-",
		released: []string{"host-1"},
		events:   []string{"Normal HostsReleased released host-1", "Normal FinalizerUpdate"},
	}, {
		name:     "hosts that a crash left claimed are released when none fits, if the API server shows no work on them",
		world:    []runtime.Object{edge(wants(64))},
		hosts:    held(),
		writes:   []string{"update provisionings/status edge-1"},
		reads:    askAll,
		reason:   "GivingBackHosts",
		released: []string{"host-1"},
		events:   []string{"Normal HostsReleased released host-1", "Normal GivingBackHosts"},
		err:      "again",
	}, {
		name:   "they are kept while a pod may work on them",
		world:  []runtime.Object{edge(wants(64))},
		live:   []runtime.Object{labelled(corev1.PodRunning)},
		hosts:  held(),
		writes: []string{"update provisionings/status edge-1"},
		reads:  askAll,
		reason: "GivingBackHosts",
		events: []string{"Normal GivingBackHosts"},
		err:    "again",
	}, {
		name:   "they are kept if a playbook was on them, which the pinned keys remember",
		world:  []runtime.Object{edge(wants(64)), written(contract.KnownHostsName(name), contract.KeyKnownHosts, "10.0.0.1 ssh-ed25519 AAAA")},
		hosts:  held(),
		writes: []string{"update provisionings/status edge-1"},
		reads:  []string{},
		reason: "HostsNotAvailable",
		events: []string{"Warning HostsNotAvailable"},
	}, {
		name:   "hosts that an earlier Provisioning of this name claimed are kept",
		world:  []runtime.Object{edge(wants(64), func(p *v1alpha1.Provisioning) { p.UID = "uid-2" })},
		hosts:  held(),
		writes: []string{"update provisionings/status edge-1"},
		reads:  []string{},
		reason: "HostsNotAvailable",
		events: []string{"Warning HostsNotAvailable"},
	}, {
		name:   "deletion goes on trying to release",
		world:  []runtime.Object{edge(deleting)},
		hosts:  &fakeHosts{err: errors.New("conflict")},
		writes: []string{"update provisionings/status edge-1"},
		reason: "Deleting",
		err:    "release hosts: conflict",
		events: []string{"Normal Deleting", "Warning InternalError release hosts"},
	}, {
		name:   "deletion that cannot see the pods releases nothing",
		world:  []runtime.Object{edge(deleting)},
		hosts:  held(),
		fail:   "list pods",
		reason: "-",
		err:    "list pods: no",
		events: []string{"Warning InternalError list pods"},
	}} {
		t.Run(row.name, func(t *testing.T) {
			if row.hosts == nil {
				row.hosts = fitting()
			}
			if row.key == "" {
				row.key = at
			}
			cached := make([]runtime.Object, len(row.world))
			for i, o := range row.world {
				cached[i] = o.DeepCopyObject()
			}
			w := newFixture(t, row.hosts, cached, row.live)
			refuse := func(a clientgotesting.Action) (bool, runtime.Object, error) {
				return row.fail == a.GetVerb()+" "+a.GetResource().Resource, nil, errors.New("no")
			}
			w.kube.PrependReactor("*", "*", refuse)
			w.tekton.PrependReactor("*", "*", refuse)

			err := w.visit(t, row.key)
			checkError(t, err, row.err)
			var reads, writes []string
			for _, call := range w.calls() {
				if verb, _, _ := strings.Cut(call, " "); verb == "get" || verb == "list" {
					reads = append(reads, call)
				} else {
					writes = append(writes, call)
				}
			}
			if row.fail == "" {
				if diff := cmp.Diff(row.writes, writes); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
			}
			if row.reads != nil && len(row.reads)+len(reads) > 0 {
				if diff := cmp.Diff(row.reads, reads); diff != "" {
					t.Errorf("reads (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(row.released, row.hosts.released); diff != "" {
				t.Errorf("released (-want +got):\n%s", diff)
			}
			checkEvents(t, w.recorder.Events, row.events)
			for i, o := range row.world {
				if diff := cmp.Diff(o, cached[i]); diff != "" {
					t.Errorf("a cached object was changed (-want +got):\n%s", diff)
				}
			}
			if row.reason != "" && row.reason != "-" {
				if ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady); ready == nil || ready.Reason != row.reason {
					t.Errorf("Ready is %+v, want reason %s", ready, row.reason)
				}
			}
		})
	}
}

// wants sets the number of CPUs that the node requires.
func wants(cpus int32) func(*v1alpha1.Provisioning) {
	return func(p *v1alpha1.Provisioning) {
		p.Spec.Masters = []map[string]v1alpha1.Master{{"master-1": {HostRequirements: v1alpha1.HostRequirements{CPU: cpus}}}}
	}
}

// written returns a ConfigMap of edge-1 with data that a task wrote.
func written(name string, data ...string) *corev1.ConfigMap {
	for _, cm := range resources.MakeTaskConfigMaps(edge()) {
		if cm.Name == name {
			cm.Data = map[string]string{}
			for i := 0; i < len(data); i += 2 {
				cm.Data[data[i]] = data[i+1]
			}
			return cm
		}
	}
	panic("no task writes " + name)
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	again, _ := controller.IsRequeueKey(err)
	switch {
	case want == "again" && again, want == "" && err == nil:
	case want != "" && err != nil && !again && strings.Contains(err.Error(), want):
	default:
		t.Errorf("error %v, want %q", err, want)
	}
}

// checkEvents compares only the first words of each event. The golden scenarios of package plan
// check the full text.
func checkEvents(t *testing.T, recorded <-chan string, want []string) {
	t.Helper()
	var got []string
	for len(recorded) > 0 {
		got = append(got, <-recorded)
	}
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = strings.HasPrefix(got[i], want[i])
	}
	if !same {
		t.Errorf("events %q, want beginnings %q", got, want)
	}
}

// succeed simulates a run that claims the host and succeeds. It returns the certificate in the
// run's results.
func succeed(t *testing.T, w *fixture, started *tekton.PipelineRun) (certificate string) {
	t.Helper()
	w.hosts.all = held().all
	record, err := w.kube.CoreV1().ConfigMaps("site").Get(t.Context(), "edge-1-installed", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record.Data = map[string]string{contract.KeyClaimed: `[{"name":"master-1","roles":["control-plane"],"host":"host-1","address":"10.0.0.1"}]`}
	if err := w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), record, "site"); err != nil {
		t.Fatal(err)
	}
	started.UID = "uid-run"
	started.Status.StartTime = &metav1.Time{Time: now}
	ca, certificate := sign(t, csrOf(started))
	w.add(t, child(started, contract.TaskCollectKubeconfig, corev1.ConditionTrue, map[string]string{
		contract.ResultCA: ca, contract.ResultCertificate: certificate, contract.ResultEndpoint: "https://10.0.0.1:6443",
	}), true)
	ended(corev1.ConditionTrue, "Succeeded")(started)
	if _, err := w.tekton.TektonV1().PipelineRuns("site").Update(t.Context(), started, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.settle(t)
	return certificate
}

// TestWholeLife installs a cluster, from the first reconcile to the kubeconfig. Then it checks that
// nothing more happens. The test does what Tekton would do.
func TestWholeLife(t *testing.T) {
	site := fitting()
	w := newFixture(t, site, []runtime.Object{edge(), sshKey()}, nil)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	started, err := w.tekton.TektonV1().PipelineRuns("site").Get(t.Context(), "edge-1-install-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.settle(t)

	certificate := succeed(t, w, started)
	key, err := w.kube.CoreV1().Secrets("site").Get(t.Context(), "edge-1-kubeconfig-key", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	p := w.stored(t)
	if !p.Status.IsReady() || p.Status.APIEndpoint != "https://10.0.0.1:6443" || len(p.Status.Nodes) != 1 {
		t.Errorf("status %+v: want it Ready with endpoint and node", p.Status)
	}
	secret, err := w.kube.CoreV1().Secrets("site").Get(t.Context(), "edge-1-kubeconfig", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if secret.Labels[resources.LabelCAPICluster] != name || !strings.Contains(string(secret.Data["value"]), "https://10.0.0.1:6443") {
		t.Errorf("kubeconfig Secret %+v", secret)
	}
	if !resources.FitsUntil([]byte(certificate), key.Data[resources.KeyPrivateKey]).After(now) {
		t.Error("the certificate request was not made with the stored key")
	}

	// While nothing changes, a restarted controller makes no call at all, not even a read.
	w.kube.ClearActions()
	w.tekton.ClearActions()
	w.bpa.ClearActions()
	if err := w.visit(t, at); err != nil {
		if again, _ := controller.IsRequeueKey(err); !again {
			t.Fatal(err)
		}
	}
	if calls := w.calls(); len(calls) > 0 {
		t.Errorf("calls in a steady world: %q", calls)
	}

	// A user deletes the Secret. The controller recreates it from the run's results.
	if err := w.kube.CoreV1().Secrets("site").Delete(t.Context(), "edge-1-kubeconfig", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.settle(t)
	if !w.stored(t).Status.IsReady() {
		t.Error("not Ready after the kubeconfig was deleted and made again")
	}
}

// csrOf returns the certificate request in the params of a run.
func csrOf(run *tekton.PipelineRun) string {
	i := slices.IndexFunc(run.Spec.Params, func(p tekton.Param) bool { return p.Name == contract.ParamCertificateRequest })
	return run.Spec.Params[i].Value.StringVal
}

// sign signs the certificate request, as the new cluster would.
func sign(t *testing.T, requestPEM string) (ca, certificate string) {
	t.Helper()
	block, _ := pem.Decode([]byte(requestPEM))
	if block == nil {
		t.Fatalf("no certificate request: %q", requestPEM)
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if u, own := access.ParseUser(request.Subject.CommonName); !own || u.Cluster != "edge-1" || u.Kind != access.Admin || len(request.Subject.Organization) > 0 {
		t.Errorf("subject %s, want a user of its own without a group", request.Subject)
	}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: now, NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, parent, parent, signer.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: request.Subject, NotBefore: now, NotAfter: now.Add(time.Hour)}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, parent, request.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	return encode(caDER), encode(leafDER)
}

// createsOfTasks returns the expected writes that create the account and the permissions of every
// task.
func createsOfTasks() (writes []string) {
	var roles, bindings []string
	for _, task := range tasksOf(contract.OperationOf(contract.OperationInstall), false) {
		writes = append(writes, "create serviceaccounts edge-1-"+task.Name)
		if task.CallsAPI() && contract.OperationOf(contract.OperationInstall).Has(task.Name) {
			roles = append(roles, "create roles edge-1-"+task.Name)
			bindings = append(bindings, "create rolebindings edge-1-"+task.Name)
		}
	}
	return slices.Concat(writes, roles, bindings, []string{"create rolebindings edge-1-select-hosts-hosts"})
}
