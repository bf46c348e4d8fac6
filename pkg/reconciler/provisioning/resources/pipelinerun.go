package resources

import (
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

// Annotations of a run, in addition to those in package contract. They record the state of the
// Provisioning for which the run was started.
const (
	// AnnotationInputs is the digest of all inputs of the run.
	AnnotationInputs = "bpa.akraino.org/inputs-digest"
	// AnnotationReplaces lists the lost nodes and hosts that the run replaces: "worker-2=host-7
	// worker-3=host-9".
	AnnotationReplaces = "bpa.akraino.org/replaces"
	// AnnotationSSHKey is the fingerprint of the public part of the SSH key. AnnotationSSHSecret is
	// the resourceVersion of the Secret with the key.
	AnnotationSSHKey    = "bpa.akraino.org/ssh-key"
	AnnotationSSHSecret = "bpa.akraino.org/ssh-secret-version"
	// AnnotationGeneration is the generation of the Provisioning when the run was started. The
	// generation counts the edits of the spec.
	AnnotationGeneration = "bpa.akraino.org/generation"
	// AnnotationSuperseded marks a run that the controller cancelled because the spec was edited
	// before the run touched a host.
	AnnotationSuperseded = "bpa.akraino.org/superseded"
	// LabelPipeline is the label by which `tkn pipelinerun list PIPELINE` selects runs. Tekton sets
	// it too, but only some time after the run was created.
	LabelPipeline = "tekton.dev/pipeline"
)

// nonroot is the numeric ID of the user that runs every task. The base images have a user with this
// ID.
const nonroot = 65532

// Run describes a run of a Provisioning.
type Run struct {
	Operation string   // empty: install
	Replaces  []string // "node=host", for the replace operation
	Number    int32    // number among all runs, which is a part of the name
	Attempt   int32    // which attempt at the same requested state this run is, from 1; a failure that costs no attempt does not raise it
	Digest    string
	Inputs    string
	Retry     string // value of the retry annotation that requested the run
	CSR       string // PEM
	Played    string // digest of an inventory with which the playbook has already succeeded; empty: none
	// SSHKey and SSHSecret are the values of the annotations with these names; empty: no
	// annotation.
	SSHKey, SSHSecret string
}

// MakePipelineRun returns one attempt at an operation.
func MakePipelineRun(p *v1alpha1.Provisioning, run Run) *tekton.PipelineRun {
	operation := contract.OperationOf(run.Operation)
	m := meta(p, RunName(p.Name, operation.Name, run.Number))
	m.Labels[contract.LabelOperation] = operation.Name
	m.Labels[contract.LabelAttempt] = strconv.Itoa(int(run.Attempt))
	m.Labels[LabelPipeline] = operation.Pipeline
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
					param("name", operation.Pipeline),
					param("namespace", Namespace),
				},
			}},
			Params:          makeParams(p, run, operation),
			Workspaces:      makeWorkspaces(p),
			Timeouts:        makeTimeouts(p.Spec.Timeouts.InstallTimeout()),
			TaskRunTemplate: tekton.PipelineTaskRunTemplate{PodTemplate: makePodTemplate()},
			TaskRunSpecs:    makeTaskRunSpecs(p, operation),
		},
	}
}

// makeParams returns the params of a run. It adds the names of the Tasks only if the spec selects a
// kubespray release, and an inventory digest only if there is one, because a customized Pipeline
// may not declare these params.
func makeParams(p *v1alpha1.Provisioning, run Run, operation contract.Operation) tekton.Params {
	params := tekton.Params{param(contract.ParamProvisioning, p.Name)}
	if operation.Playbook != "" {
		params = append(params, param(contract.ParamPlaybook, operation.Playbook))
	}
	if operation.Has(contract.TaskCollectKubeconfig) {
		params = append(params, param(contract.ParamCertificateRequest, run.CSR))
	}
	if run.Played != "" {
		params = append(params, param(contract.ParamPlayed, run.Played))
	}
	for _, task := range operation.Tasks() {
		if release := p.Spec.Kubespray.Release; release != "" && task.PerRelease {
			params = append(params, param(task.ReleaseParam(), task.OfRelease(release)))
		}
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

// makeTimeouts limits the time of the whole run. It sets the same limit for the tasks: otherwise
// Tekton would end the tasks after its default of an hour.
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

// makeTaskRunSpecs sets the service account of each task. The account's token is mounted only if
// the task calls the API server.
func makeTaskRunSpecs(p *v1alpha1.Provisioning, operation contract.Operation) []tekton.PipelineTaskRunSpec {
	var specs []tekton.PipelineTaskRunSpec
	for _, task := range operation.Tasks() {
		specs = append(specs, tekton.PipelineTaskRunSpec{
			PipelineTaskName:   task.Name,
			ServiceAccountName: contract.ServiceAccountName(p.Name, task.Name),
			PodTemplate:        &pod.PodTemplate{AutomountServiceAccountToken: ptr.To(task.CallsAPI())},
		})
	}
	return specs
}
