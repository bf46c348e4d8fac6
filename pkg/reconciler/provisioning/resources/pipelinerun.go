package resources

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline/pod"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Annotations on a run, next to the contract's, by which a later visit knows what the run was started for.
const (
	// AnnotationInputs is the digest of everything that went into the run.
	AnnotationInputs = "bpa.akraino.org/inputs-digest"
	// AnnotationReplaces are the nodes and hosts that the run replaces: "worker-2=host-7 worker-3=host-9".
	AnnotationReplaces = "bpa.akraino.org/replaces"
	// AnnotationSSHKey is the fingerprint of the key to the hosts (of its public half), and AnnotationSSHSecret the resourceVersion of its Secret.
	AnnotationSSHKey    = "bpa.akraino.org/ssh-key"
	AnnotationSSHSecret = "bpa.akraino.org/ssh-secret-version"
	// AnnotationGeneration is the generation of the Provisioning, which counts the edits of its spec, when the run was started.
	AnnotationGeneration = "bpa.akraino.org/generation"
	// AnnotationSuperseded is on a run that the controller cancelled, since the spec was edited before the run touched a host.
	AnnotationSuperseded = "bpa.akraino.org/superseded"
	// LabelPipeline is what `tkn pipelinerun list PIPELINE` looks for. Tekton sets it itself, but later.
	LabelPipeline = "tekton.dev/pipeline"
)

// nonroot is the user of every task; the base images know it by this number.
const nonroot = 65532

// playbookInstall is kubespray's entry point for a new cluster; in one that is there, it joins the nodes that are not in it yet.
const playbookInstall = "cluster.yml"

// Run says which run of a Provisioning is made, and for what.
type Run struct {
	Operation string   // empty: install
	Replaces  []string // "node=host", for the operation that replaces
	Number    int32    // in the name; counts all runs
	Attempt   int32    // for this wanted state
	Digest    string
	Inputs    string
	Retry     string // value of the retry annotation that the run obeys
	CSR       string // PEM
	// SSHKey and SSHSecret are the values of the annotations of these names; empty: not written.
	SSHKey, SSHSecret string
}

// MakePipelineRun is one attempt to make the cluster that is wanted: all operations so far are one Pipeline, which leaves what is there alone.
func MakePipelineRun(p *v1alpha1.Provisioning, run Run) *tekton.PipelineRun {
	operation := cmp.Or(run.Operation, contract.OperationInstall)
	m := meta(p, RunName(p.Name, operation, run.Number))
	m.Labels[contract.LabelOperation] = operation
	m.Labels[contract.LabelAttempt] = strconv.Itoa(int(run.Attempt))
	m.Labels[LabelPipeline] = contract.PipelineInstall
	m.Annotations = map[string]string{
		contract.AnnotationRequestDigest: run.Digest,
		AnnotationInputs:                 run.Inputs,
		AnnotationGeneration:             strconv.FormatInt(p.Generation, 10),
	}
	if len(run.Replaces) > 0 {
		m.Annotations[AnnotationReplaces] = strings.Join(run.Replaces, " ")
	}
	for name, value := range map[string]string{
		contract.AnnotationRetry: run.Retry, AnnotationSSHKey: run.SSHKey, AnnotationSSHSecret: run.SSHSecret,
	} {
		if value != "" {
			m.Annotations[name] = value
		}
	}
	return &tekton.PipelineRun{
		ObjectMeta: m,
		Spec: tekton.PipelineRunSpec{
			PipelineRef: &tekton.PipelineRef{ResolverRef: tekton.ResolverRef{
				Resolver: "cluster",
				Params: tekton.Params{
					param("kind", "pipeline"),
					param("name", contract.PipelineInstall),
					param("namespace", Namespace),
				},
			}},
			Params:          makeParams(p, run),
			Workspaces:      makeWorkspaces(p),
			Timeouts:        makeTimeouts(p.Spec.Timeouts.InstallTimeout()),
			TaskRunTemplate: tekton.PipelineTaskRunTemplate{PodTemplate: makePodTemplate()},
			TaskRunSpecs:    makeTaskRunSpecs(p),
		},
	}
}

// makeParams names the Tasks only if the spec picks a kubespray release: a site's own Pipeline need not know those params.
func makeParams(p *v1alpha1.Provisioning, run Run) tekton.Params {
	params := tekton.Params{
		param(contract.ParamProvisioning, p.Name),
		param(contract.ParamPlaybook, playbookInstall),
		param(contract.ParamCertificateRequest, run.CSR),
	}
	if release := p.Spec.Kubespray.Release; release != "" {
		params = append(params,
			param(contract.ParamSeedRegistryTask, contract.TaskSeedRegistry+"-"+release),
			param(contract.ParamKubesprayTask, contract.TaskKubespray+"-"+release))
	}
	return params
}

func param(name, value string) tekton.Param {
	return tekton.Param{Name: name, Value: *tekton.NewStructuredValues(value)}
}

func makeWorkspaces(p *v1alpha1.Provisioning) []tekton.WorkspaceBinding {
	configMap := func(workspace, name string) tekton.WorkspaceBinding {
		return tekton.WorkspaceBinding{Name: workspace, ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name},
		}}
	}
	return []tekton.WorkspaceBinding{
		configMap(contract.WorkspaceRequest, contract.RequestName(p.Name)),
		configMap(contract.WorkspaceInventory, contract.InventoryName(p.Name)),
		{Name: contract.WorkspaceSSH, Secret: &corev1.SecretVolumeSource{SecretName: p.Spec.SSH.Secret()}},
	}
}

// makeTimeouts bounds the whole run. The tasks' bound is given too, since without it each task would end after Tekton's default of an hour.
func makeTimeouts(total time.Duration) *tekton.TimeoutFields {
	return &tekton.TimeoutFields{Pipeline: &metav1.Duration{Duration: total}, Tasks: &metav1.Duration{Duration: total}}
}

func makePodTemplate() *pod.PodTemplate {
	return &pod.PodTemplate{
		EnableServiceLinks: ptr.To(false),
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot:   ptr.To(true),
			RunAsUser:      ptr.To(int64(nonroot)),
			RunAsGroup:     ptr.To(int64(nonroot)),
			FSGroup:        ptr.To(int64(nonroot)),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
}

// makeTaskRunSpecs gives each task its account, and its token if it talks to the API server.
func makeTaskRunSpecs(p *v1alpha1.Provisioning) []tekton.PipelineTaskRunSpec {
	var specs []tekton.PipelineTaskRunSpec
	for _, task := range Tasks {
		specs = append(specs, tekton.PipelineTaskRunSpec{
			PipelineTaskName:   task,
			ServiceAccountName: contract.ServiceAccountName(p.Name, task),
			PodTemplate:        &pod.PodTemplate{AutomountServiceAccountToken: ptr.To(asksAPI(task))},
		})
	}
	return specs
}
