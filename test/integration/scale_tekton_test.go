//go:build integration && bench

package integration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"sync"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonclient "github.com/tektoncd/pipeline/pkg/client/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/selecthosts"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// fakeTekton plays runs: it writes TaskRuns and the status of runs as Tekton does, and starts no pod. The task
// select-hosts is BPA's own code, with the rights of its account, and so are the records of the task kubespray. The
// playbook is a wait, in which the progress is written, and collect-kubeconfig signs with a CA of the test.
type fakeTekton struct {
	config *rest.Config
	kube   kubernetes.Interface
	tekton tektonclient.Interface
	begin  chan struct{} // closed when tasks may begin; runs are created before
	// claims limits how many tasks select-hosts run at a time.
	claims   chan struct{}
	playbook time.Duration
	progress time.Duration         // between two writes of the progress
	fails    func(run string) bool // whether the playbook of a run fails
	// ended is called when the API server has stored the end of a task; task is empty for the end of the run.
	ended func(cluster, task string, failed bool)

	mu       sync.Mutex
	problems []error
	took     []time.Duration // of each select-hosts
	claimed  int             // hosts
	from, to time.Time       // of all tasks select-hosts
	all      sync.WaitGroup
	ca       *x509.Certificate
	caKey    *ecdsa.PrivateKey
}

func newFakeTekton(config *rest.Config) (*fakeTekton, error) {
	k, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	tk, err := tektonclient.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	f := &fakeTekton{config: config, kube: k, tekton: tk, begin: make(chan struct{}), claims: make(chan struct{}, 16)}
	if f.caKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &f.caKey.PublicKey, f.caKey)
	if err != nil {
		return nil, err
	}
	f.ca, err = x509.ParseCertificate(raw)
	return f, err
}

// play plays each run of a namespace until ctx ends.
func (f *fakeTekton) play(ctx context.Context, namespace string) error {
	w, err := f.tekton.TektonV1().PipelineRuns(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	go func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			run, ok := event.Object.(*tekton.PipelineRun)
			if !ok || event.Type != "ADDED" || run.IsDone() {
				continue
			}
			f.all.Go(func() {
				if err := f.playRun(ctx, run); err != nil && ctx.Err() == nil {
					f.mu.Lock()
					defer f.mu.Unlock()
					f.problems = append(f.problems, fmt.Errorf("%s: %w", run.Name, err))
				}
			})
		}
	}()
	return nil
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (f *fakeTekton) playRun(ctx context.Context, run *tekton.PipelineRun) error {
	select {
	case <-f.begin:
	case <-ctx.Done():
		return nil
	}
	cluster, started := run.Labels[contract.LabelCluster], metav1.Now()
	status := tekton.PipelineRunStatus{PipelineRunStatusFields: tekton.PipelineRunStatusFields{StartTime: &started}}
	failed := false
	for _, step := range contract.OperationOf(run.Labels[contract.LabelOperation]).Steps {
		if step.Task == contract.TaskInstallPlugins {
			continue
		}
		tr := &tekton.TaskRun{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: run.Namespace, Name: run.Name + "-" + step.Task, Labels: maps.Clone(run.Labels),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(run, tekton.SchemeGroupVersion.WithKind("PipelineRun"))},
			},
			Spec: tekton.TaskRunSpec{ServiceAccountName: contract.ServiceAccountName(cluster, step.Task), TaskRef: &tekton.TaskRef{Name: step.Task}},
		}
		tr.Labels[pipeline.PipelineTaskLabelKey], tr.Labels[pipeline.PipelineRunLabelKey] = step.Task, run.Name
		tr, err := f.tekton.TektonV1().TaskRuns(run.Namespace).Create(ctx, tr, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		status.ChildReferences = append(status.ChildReferences, tekton.ChildStatusReference{Name: tr.Name, PipelineTaskName: step.Task, TypeMeta: runtime.TypeMeta{APIVersion: "tekton.dev/v1", Kind: "TaskRun"}})
		status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionUnknown, Reason: "Running"})
		if err := f.patchRun(ctx, run, status); err != nil {
			return err
		}
		results, err := f.playTask(ctx, run, cluster, step.Task)
		if ctx.Err() != nil {
			return nil
		}
		condition := apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue, Reason: "Succeeded"}
		if failed = err != nil; failed {
			text, _ := json.Marshal(task.FailureOf(err))
			results = map[string]string{contract.ResultFailure: string(text)}
			condition.Status, condition.Reason, condition.Message = corev1.ConditionFalse, "Failed", "the step has failed"
		}
		now := metav1.Now()
		tr.Status.StartTime, tr.Status.CompletionTime = &started, &now
		tr.Status.SetCondition(&condition)
		for _, name := range slices.Sorted(maps.Keys(results)) {
			tr.Status.Results = append(tr.Status.Results, tekton.TaskRunResult{Name: name, Type: tekton.ResultsTypeString, Value: *tekton.NewStructuredValues(results[name])})
		}
		if _, err := f.tekton.TektonV1().TaskRuns(run.Namespace).UpdateStatus(ctx, tr, metav1.UpdateOptions{}); err != nil {
			return err
		}
		f.ended(cluster, step.Task, failed)
		if failed {
			break
		}
	}
	now := metav1.Now()
	status.CompletionTime = &now
	end := apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue, Reason: "Succeeded"}
	if failed {
		end.Status, end.Reason, end.Message = corev1.ConditionFalse, "Failed", "a task has failed"
	}
	status.SetCondition(&end)
	if err := f.patchRun(ctx, run, status); err != nil {
		return err
	}
	f.ended(cluster, "", failed)
	return nil
}

// patchRun writes the status of a run.
func (f *fakeTekton) patchRun(ctx context.Context, run *tekton.PipelineRun, status tekton.PipelineRunStatus) error {
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = f.tekton.TektonV1().PipelineRuns(run.Namespace).Patch(ctx, run.Name, "application/merge-patch+json", text, metav1.PatchOptions{}, "status")
	return err
}

func (f *fakeTekton) playTask(ctx context.Context, run *tekton.PipelineRun, cluster, name string) (map[string]string, error) {
	request, err := f.requestOf(ctx, run)
	if err != nil {
		return nil, err
	}
	switch name {
	case contract.TaskSelectHosts:
		return f.selectHosts(ctx, run, request)
	case contract.TaskKubespray:
		return nil, f.kubespray(ctx, run, request)
	case contract.TaskCollectKubeconfig:
		return f.collect(run)
	}
	return nil, nil
}

// requestOf reads the request of a run, as its pods do.
func (f *fakeTekton) requestOf(ctx context.Context, run *tekton.PipelineRun) (r contract.Request, err error) {
	name, uid := runs.RequestOf(convert.Run(run))
	cm, err := f.kube.CoreV1().ConfigMaps(run.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return r, err
	}
	if cm.UID != uid {
		return r, fmt.Errorf("ConfigMap %s has UID %s, and the run names %s", name, cm.UID, uid)
	}
	return r, json.Unmarshal([]byte(cm.Data[contract.KeyRequest]), &r)
}

// as returns the configuration of the account of a task.
func (f *fakeTekton) as(namespace, cluster, task string) *rest.Config {
	config := rest.CopyConfig(f.config)
	config.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + contract.ServiceAccountName(cluster, task)
	config.Impersonate.Groups = []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:" + namespace}
	return config
}

func (f *fakeTekton) selectHosts(ctx context.Context, run *tekton.PipelineRun, request contract.Request) (map[string]string, error) {
	f.claims <- struct{}{}
	defer func() { <-f.claims }()
	cluster := run.Labels[contract.LabelCluster]
	config := f.as(run.Namespace, cluster, contract.TaskSelectHosts)
	scheme := runtime.NewScheme()
	if err := metal3.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	hosts, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	maps, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	store := func(name string) *kube.Store { return kube.NewStore(maps.CoreV1().ConfigMaps(run.Namespace), name) }
	begun := time.Now()
	out, err := selecthosts.Run(ctx, selecthosts.Input{Request: request}, selecthosts.Ports{
		Hosts: hosts, Record: store(contract.InstalledName(cluster)), Outcome: store(request.Outcome), Log: io.Discard,
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.from.IsZero() {
		f.from = begun
	}
	f.to = time.Now()
	f.took = append(f.took, f.to.Sub(begun))
	f.claimed += out.Count
	return out.Results(), err
}

// kubespray waits as long as the playbook, and writes the progress and the records that the task writes.
func (f *fakeTekton) kubespray(ctx context.Context, run *tekton.PipelineRun, request contract.Request) error {
	cluster := run.Labels[contract.LabelCluster]
	store := func(name string) *kube.Store { return kube.NewStore(f.kube.CoreV1().ConfigMaps(run.Namespace), name) }
	cm, err := f.kube.CoreV1().ConfigMaps(run.Namespace).Get(ctx, request.Outcome, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var listed []contract.Node
	if err := json.Unmarshal([]byte(cm.Data[contract.KeyNodes]), &listed); err != nil {
		return err
	}
	nodes, _ := inventory.Members(request, listed)
	records, err := kubespray.ReadRecords(ctx, store(contract.InstalledName(cluster)))
	if err != nil {
		return err
	}
	if err := records.SetHosts(ctx, contract.HostUsed, nodes...); err != nil {
		return err
	}
	begun := time.Now()
	for n := 1; time.Since(begun) < f.playbook && ctx.Err() == nil; n++ {
		pauseFor(ctx, f.progress)
		text, err := json.Marshal(contract.Progress{Run: run.Name, Percent: int(min(99, 100*time.Since(begun)/f.playbook)), Step: fmt.Sprintf("task %d", n)})
		if err != nil {
			return err
		}
		if err := store(contract.ProgressName(cluster)).Set(ctx, contract.KeyProgress, string(text)); err != nil {
			return err
		}
	}
	if f.fails != nil && f.fails(run.Name) {
		return task.Because(contract.ReasonSSHDenied, fmt.Errorf("the playbook of the test fails"))
	}
	if err := records.Join(ctx, nodes); err != nil {
		return err
	}
	return records.Complete(ctx, request, nodes)
}

// collect signs the request of the run for a client certificate.
func (f *fakeTekton) collect(run *tekton.PipelineRun) (map[string]string, error) {
	i := slices.IndexFunc(run.Spec.Params, func(p tekton.Param) bool { return p.Name == contract.ParamCertificateRequest })
	block, _ := pem.Decode([]byte(run.Spec.Params[i].Value.StringVal))
	csr, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: csr.Subject, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(1, 0, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, template, f.ca, csr.PublicKey, f.caKey)
	if err != nil {
		return nil, err
	}
	encode := func(raw []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
	}
	return map[string]string{
		contract.ResultCA: encode(f.ca.Raw), contract.ResultCertificate: encode(raw), contract.ResultVersion: "v1.35.3",
		contract.ResultEndpoint: "https://127.0.0.1:1", // refuses every connection
	}, nil
}
