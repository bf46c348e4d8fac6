package runs

import (
	"cmp"
	"slices"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline/pod"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// Namespace is the namespace in which config/ installs the Tasks, the Pipelines, and all its other
// namespaced objects.
const Namespace = "bpa-system"

// LabelPipeline is the label by which `tkn pipelinerun list PIPELINE` selects runs. Tekton sets it
// too, but only some time after the run was created.
const LabelPipeline = "tekton.dev/pipeline"

// nonroot is the numeric ID of the user that runs every task. The base images have a user with this
// ID.
const nonroot = 65532

// Run describes a run.
type Run struct {
	// Name is the name of the Provisioning, from which the names of the run's ConfigMaps and
	// accounts derive. See contract.KnownHostsName and the functions that follow it.
	Name string
	// Request is the name of the ConfigMap with the request; empty: contract.RequestName of Name.
	Request   string
	Operation contract.Operation
	Release   string // kubespray release; empty: the Tasks without a release in their names
	// SSHSecret is the name of the Secret with the SSH key of the cluster.
	SSHSecret string
	// SiteSSHSecret is the name of the Secret with the SSH key of the site; empty: the run does not enroll hosts.
	SiteSSHSecret string
	Timeout       time.Duration
	// Plugins reports that a run of contract.PipelineInstall or PipelineRestore installs and removes plugins.
	Plugins bool
	// Vars are the files of contract.WorkspaceVars; nil: the run does not have it.
	Vars []corev1.VolumeProjection
}

// Spec returns the spec of the run's PipelineRun. params are added to the params that every run of
// the operation has.
func (r Run) Spec(params ...tekton.Param) tekton.PipelineRunSpec {
	return tekton.PipelineRunSpec{
		PipelineRef: &tekton.PipelineRef{ResolverRef: tekton.ResolverRef{
			Resolver: "cluster",
			Params: tekton.Params{
				Param("kind", "pipeline"),
				Param("name", r.Operation.Pipeline),
				Param("namespace", Namespace),
			},
		}},
		Params:          append(r.params(), params...),
		Workspaces:      r.workspaces(),
		Timeouts:        timeouts(r.Timeout),
		TaskRunTemplate: tekton.PipelineTaskRunTemplate{PodTemplate: podTemplate()},
		TaskRunSpecs:    r.taskRunSpecs(),
	}
}

// params returns the params that every run of the operation has. It adds the names of the Tasks
// only for a kubespray release, because a customized Pipeline may not declare these params.
func (r Run) params() tekton.Params {
	params := tekton.Params{Param(contract.ParamProvisioning, r.Name)}
	if r.Operation.Playbook != "" {
		params = append(params, Param(contract.ParamPlaybook, r.Operation.Playbook))
	}
	if r.Plugins && r.Operation.Name != contract.OperationPlugins {
		params = append(params, Param(contract.ParamPlugins, "true"))
	}
	if r.SiteSSHSecret != "" {
		params = append(params, Param(contract.ParamEnroll, "true"))
	}
	for _, task := range r.Operation.Tasks() {
		if r.Release != "" && task.PerRelease && r.runs(task) {
			params = append(params, Param(task.ReleaseParam(), task.OfRelease(r.Release)))
		}
	}
	return params
}

// runs reports whether the run executes a task of its operation. The Task of a release is named only
// then, because a site that installs no plugins may not have it.
func (r Run) runs(task contract.Task) bool {
	return task.Name != contract.TaskInstallPlugins || r.Plugins || r.Operation.Pipeline == contract.PipelinePlugins
}

// Param returns a param of type string.
func Param(name, value string) tekton.Param {
	return tekton.Param{Name: name, Value: *tekton.NewStructuredValues(value)}
}

func (r Run) workspaces() []tekton.WorkspaceBinding {
	configMap := func(workspace, name string) tekton.WorkspaceBinding {
		return tekton.WorkspaceBinding{Name: workspace, ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name},
		}}
	}
	secret := func(workspace, name string) tekton.WorkspaceBinding {
		return tekton.WorkspaceBinding{Name: workspace, Secret: &corev1.SecretVolumeSource{SecretName: name}}
	}
	request := cmp.Or(r.Request, contract.RequestName(r.Name))
	all := []tekton.WorkspaceBinding{configMap(contract.WorkspaceRequest, request)}
	if r.Operation.Name != contract.OperationBackup { // its task stores nothing for others
		all = append(all, configMap(contract.WorkspaceInventory, contract.OutcomeName(request)))
	}
	all = append(all, secret(contract.WorkspaceSSH, r.SSHSecret))
	if r.SiteSSHSecret != "" { // no other task than enroll can read it
		all = append(all, secret(contract.WorkspaceSiteSSH, r.SiteSSHSecret))
	}
	if r.Operation.Name == contract.OperationRestore { // no other run can read backups
		all = append(all, secret(contract.WorkspaceBackupKey, contract.BackupKeyName(r.Name)))
	}
	if len(r.Vars) > 0 && r.Operation.Has(contract.TaskKubespray) { // no other task can read them
		all = append(all, tekton.WorkspaceBinding{Name: contract.WorkspaceVars, Projected: &corev1.ProjectedVolumeSource{Sources: r.Vars}})
	}
	return all
}

// AnnotationRequest, on a run of a Provisioning, is the UID of the ConfigMap with the request for which it was started.
const AnnotationRequest = "bpa.akraino.org/request-uid"

// RequestOf returns the name and the UID of the ConfigMap with the request of a run. A ConfigMap of this name with
// another UID is not the one for which the run was started. The UID is empty if a user has made the run.
func RequestOf(run *tekton.PipelineRun) (name string, uid types.UID) {
	for _, w := range run.Spec.Workspaces {
		if w.Name == contract.WorkspaceRequest && w.ConfigMap != nil {
			name = w.ConfigMap.Name
		}
	}
	return name, types.UID(run.Annotations[AnnotationRequest])
}

// timeouts limits the time of the whole run. It sets the same limit for the tasks: otherwise Tekton
// would end the tasks after its default of an hour.
func timeouts(total time.Duration) *tekton.TimeoutFields {
	return &tekton.TimeoutFields{Pipeline: &metav1.Duration{Duration: total}, Tasks: &metav1.Duration{Duration: total}}
}

func podTemplate() *pod.PodTemplate {
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

// taskRunSpecs sets the service account of each task. The account's token is mounted only if the
// task calls the API server.
func (r Run) taskRunSpecs() []tekton.PipelineTaskRunSpec {
	var specs []tekton.PipelineTaskRunSpec
	for _, task := range r.Operation.Tasks() {
		specs = append(specs, tekton.PipelineTaskRunSpec{
			PipelineTaskName:   task.Name,
			ServiceAccountName: contract.ServiceAccountName(r.Name, task.Name),
			PodTemplate:        &pod.PodTemplate{AutomountServiceAccountToken: ptr.To(task.CallsAPI())},
		})
	}
	return specs
}

// Rules returns the rights of a task's account. They name the ConfigMaps that the task reads and
// writes, and the cluster whose artifacts it uploads. In the depot, the namespace is the owner of the
// artifacts. outcome is the name of the ConfigMap for the outcome of the run; empty: it has none.
func Rules(name, outcome string, task contract.Task) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	allow := func(names []string, verbs ...string) {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: names, Verbs: slices.Clone(verbs)})
	}
	var names []string
	switch stores := []string{"get", "update"}; {
	case !task.StoresOutcome || outcome == "":
	case slices.Equal(task.Verbs, stores):
		names = append(names, outcome)
	default:
		allow([]string{outcome}, stores...)
	}
	for _, of := range task.ConfigMaps {
		names = append(names, of(name))
	}
	if len(names) > 0 { // without names, the rule would apply to every ConfigMap
		allow(names, task.Verbs...)
	}
	if task.Uploads { // the depot refuses to store other content under a name that exists; that needs the right to delete
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{depotGroup}, Resources: []string{"artifacts"}, ResourceNames: []string{name}, Verbs: []string{"get", "create", "update"},
		})
	}
	return rules
}

// depotGroup is the API group by which the depot checks rights (docs/depot.md).
const depotGroup = "depot.bpa.akraino.org"

// TaskConfigMaps returns the names of the ConfigMaps that tasks write and that outlive the run. The
// client that starts a run creates them first, so that a task needs no right to create one.
func TaskConfigMaps(name string) []string {
	records := []string{contract.PluginsName(name), contract.SoftwareName(name)} // of runs that need them
	var all []string
	for _, t := range contract.AllTasks() {
		for _, of := range t.ConfigMaps {
			if made := of(name); !slices.Contains(records, made) && !slices.Contains(all, made) {
				all = append(all, made)
			}
		}
	}
	return all
}
