package contract

import "slices"

// Names of the tasks, in the order in which a run executes them.
const (
	TaskSeedRegistry      = "seed-registry"
	TaskSelectHosts       = "select-hosts"
	TaskRenderInventory   = "render-inventory"
	TaskKubespray         = "kubespray"
	TaskCollectKubeconfig = "collect-kubeconfig"
)

// Task describes one task of a run. The controller derives the task's account, rights, params and
// progress from it. A test compares it with tekton/, config/, cmd/ and the Pipeline.
type Task struct {
	// Name is the name of the Tekton Task and its file in tekton/tasks, of the program in cmd, and,
	// without dashes, of the package in pkg/tasks.
	Name string
	// Params, Workspaces and Results are the names that the Task declares, in its order.
	// ResultFailure is left out, because every task has it.
	Params, Workspaces, Results []string
	// ConfigMaps are the ConfigMaps that the task's account can access, by the name of the
	// Provisioning. Verbs are the verbs of this access. Without both, the account has no token for
	// the API server.
	ConfigMaps []func(provisioning string) string
	Verbs      []string
	// ClaimsHosts: the account can also claim hosts of its namespace, while the task runs, and read
	// the Secrets that these hosts are given.
	ClaimsHosts bool
	// ChangesHosts: hosts may contain a part of a cluster as soon as the task has started.
	ChangesHosts bool
	// PerRelease: a site has one Task <Name>-<release> for each kubespray release that it offers.
	PerRelease bool
	// Percent is the progress of the run, 0 to 100, when the task has succeeded.
	Percent int32
}

// InstallTasks are the tasks of PipelineInstall in their order. In measurements, all tasks except
// kubespray took seconds, which the percentages reflect.
var InstallTasks = []Task{
	{
		Name:       TaskSeedRegistry,
		Params:     []string{ParamProvisioning, "depot", "platforms"},
		Workspaces: []string{WorkspaceRequest},
		Results:    []string{ResultArtifacts, ResultOSImage, ResultChecksums},
		PerRelease: true,
		Percent:    2,
	},
	{
		Name:        TaskSelectHosts,
		Params:      []string{ParamProvisioning},
		Workspaces:  []string{WorkspaceRequest},
		Results:     []string{ResultHosts, ResultCount},
		ConfigMaps:  []func(string) string{InventoryName},
		Verbs:       []string{"get", "update"},
		ClaimsHosts: true,
		Percent:     4,
	},
	{
		Name:       TaskRenderInventory,
		Params:     []string{ParamProvisioning, "checksums"},
		Workspaces: []string{WorkspaceRequest, WorkspaceInventory},
		Results:    []string{ResultInventoryDigest},
		ConfigMaps: []func(string) string{InventoryName},
		Verbs:      []string{"get", "update"},
		Percent:    6,
	},
	{
		Name:         TaskKubespray,
		Params:       []string{ParamProvisioning, "run", ParamPlaybook},
		Workspaces:   []string{WorkspaceRequest, WorkspaceInventory, WorkspaceSSH},
		Results:      []string{ResultRecap},
		ConfigMaps:   []func(string) string{KnownHostsName, ProgressName},
		Verbs:        []string{"get", "update"},
		ChangesHosts: true,
		PerRelease:   true,
		Percent:      97,
	},
	{
		Name:       TaskCollectKubeconfig,
		Params:     []string{ParamProvisioning, ParamCertificateRequest},
		Workspaces: []string{WorkspaceRequest, WorkspaceInventory, WorkspaceSSH},
		Results:    []string{ResultCA, ResultCertificate, ResultEndpoint, ResultVersion},
		ConfigMaps: []func(string) string{KnownHostsName},
		Verbs:      []string{"get"},
		Percent:    99,
	},
}

// CallsAPI reports whether the task's account has a token for the bootstrap machine's API server.
func (t Task) CallsAPI() bool { return len(t.Verbs) > 0 }

// Image is the image of the task's step, as ko resolves it.
func (t Task) Image() string { return "ko://github.com/akraino-icn/bpa/cmd/" + t.Name }

// ReleaseParam is the Pipeline's param that names the Task to use, if PerRelease is set.
func (t Task) ReleaseParam() string { return t.Name + "-task" }

// OfRelease is the name of the Task for a kubespray release; empty release: the default Task.
func (t Task) OfRelease(release string) string {
	if release == "" || !t.PerRelease {
		return t.Name
	}
	return t.Name + "-" + release
}

// ChangesHosts reports whether hosts may contain a part of a cluster as soon as the task of this
// name has started.
func ChangesHosts(task string) bool {
	return slices.ContainsFunc(InstallTasks, func(t Task) bool { return t.Name == task && t.ChangesHosts })
}
