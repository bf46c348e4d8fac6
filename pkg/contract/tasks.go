package contract

import "slices"

// Names of the tasks.
const (
	TaskSeedRegistry      = "seed-registry"
	TaskSelectHosts       = "select-hosts"
	TaskEnroll            = "enroll"
	TaskRenderInventory   = "render-inventory"
	TaskKubespray         = "kubespray"
	TaskCollectKubeconfig = "collect-kubeconfig"
	TaskInstallPlugins    = "install-plugins"
	TaskInstallSoftware   = "install-software"
	TaskBackup            = "backup"
)

// Task describes one task of a run. From this description, the controller derives the task's
// service account, permissions and params. A test compares the description with tekton/, config/,
// cmd/ and the Pipelines.
type Task struct {
	// Name is the name of the Tekton Task, of its file in tekton/tasks, and of the program in cmd.
	// Without its dashes, it is also the name of the package in pkg/tasks.
	Name string
	// Params, Workspaces and Results are the names that the Task declares, in the order of its
	// file. ResultFailure is left out, because every task has it.
	Params, Workspaces, Results []string
	// ConfigMaps are functions, one for each ConfigMap that the task's account can access. A
	// function returns the name of the ConfigMap for the name of a Provisioning. Verbs are the
	// permitted operations on these ConfigMaps. If Verbs is empty, the account has no token
	// for the API server.
	ConfigMaps []func(provisioning string) string
	Verbs      []string
	// StoresOutcome reports that the account can read and update the ConfigMap OutcomeName of the run.
	StoresOutcome bool
	// ClaimsHosts reports that, while the task runs, its account can also claim hosts of its
	// namespace and read the Secrets that these hosts are given.
	ClaimsHosts bool
	// Uploads reports that the task's account can upload artifacts of the Provisioning to the depot,
	// but cannot replace or delete them.
	Uploads bool
	// ChangesHosts reports that hosts may contain a part of a cluster as soon as the task has
	// started.
	ChangesHosts bool
	// PerRelease reports that a site has one Task <Name>-<release> for each kubespray release that
	// it offers.
	PerRelease bool
}

// Tasks are the tasks of the runs of a Provisioning, in the order in which an installation executes them.
var Tasks = []Task{
	{
		Name:       TaskSeedRegistry,
		Params:     []string{ParamProvisioning, "depot", "platforms"},
		Workspaces: []string{WorkspaceRequest},
		Results:    []string{ResultArtifacts, ResultOSImage, ResultChecksums},
		PerRelease: true,
	},
	{
		Name:          TaskSelectHosts,
		Params:        []string{ParamProvisioning},
		Workspaces:    []string{WorkspaceRequest},
		Results:       []string{ResultHosts, ResultCount},
		ConfigMaps:    []func(string) string{InstalledName},
		Verbs:         []string{"get", "update"},
		StoresOutcome: true,
		ClaimsHosts:   true,
	},
	{
		Name:          TaskEnroll,
		Params:        []string{ParamProvisioning},
		Workspaces:    []string{WorkspaceRequest, WorkspaceInventory, WorkspaceSSH, WorkspaceSiteSSH},
		ConfigMaps:    []func(string) string{KnownHostsName, InstalledName},
		Verbs:         []string{"get"},
		StoresOutcome: true,
	},
	{
		Name:          TaskRenderInventory,
		Params:        []string{ParamProvisioning, "checksums"},
		Workspaces:    []string{WorkspaceRequest, WorkspaceInventory},
		Results:       []string{ResultInventoryDigest},
		StoresOutcome: true,
	},
	{
		Name:         TaskKubespray,
		Params:       []string{ParamProvisioning, "run", ParamPlaybook, ParamPlayed},
		Workspaces:   []string{WorkspaceRequest, WorkspaceInventory, WorkspaceSSH, WorkspaceBackupKey, WorkspaceVars},
		Results:      []string{ResultRecap},
		ConfigMaps:   []func(string) string{KnownHostsName, ProgressName, InstalledName, SoftwareName},
		Verbs:        []string{"get", "update"},
		ChangesHosts: true,
		PerRelease:   true,
	},
	{
		Name:       TaskCollectKubeconfig,
		Params:     []string{ParamProvisioning, ParamCertificateRequest},
		Workspaces: []string{WorkspaceRequest, WorkspaceInventory, WorkspaceSSH},
		Results:    []string{ResultCA, ResultCertificate, ResultEndpoint, ResultVersion},
		ConfigMaps: []func(string) string{KnownHostsName},
		Verbs:      []string{"get"},
	},
	{
		Name:       TaskInstallPlugins,
		Params:     []string{ParamProvisioning, "run", "depot"},
		Workspaces: []string{WorkspaceRequest, WorkspaceInventory, WorkspaceSSH},
		Results:    []string{ResultPlugins},
		ConfigMaps: []func(string) string{KnownHostsName, ProgressName, PluginsName},
		Verbs:      []string{"get", "update"},
		PerRelease: true,
	},
	{
		Name:       TaskInstallSoftware,
		Params:     []string{ParamProvisioning, "run"},
		Workspaces: []string{WorkspaceRequest, WorkspaceInventory, WorkspaceSSH},
		Results:    []string{ResultSoftware},
		ConfigMaps: []func(string) string{KnownHostsName, ProgressName, SoftwareName},
		Verbs:      []string{"get", "update"},
		PerRelease: true,
	},
}

// BackupTask is the only task of the run of a Backup.
var BackupTask = Task{
	Name:       TaskBackup,
	Params:     []string{ParamProvisioning, ParamArtifact, ParamRecipient, "depot"},
	Workspaces: []string{WorkspaceRequest, WorkspaceSSH},
	Results:    []string{ResultSHA256, ResultSize, ResultRevision, ResultMember, ResultVersion},
	ConfigMaps: []func(string) string{KnownHostsName, InstalledName},
	Verbs:      []string{"get"},
	Uploads:    true,
}

// AllTasks returns Tasks and BackupTask.
func AllTasks() []Task { return append(slices.Clone(Tasks), BackupTask) }

// TaskOf returns the task of this name, which exists.
func TaskOf(name string) Task {
	all := AllTasks()
	return all[slices.IndexFunc(all, func(t Task) bool { return t.Name == name })]
}

// CallsAPI reports whether the task's account has a token for the bootstrap machine's API server.
func (t Task) CallsAPI() bool { return len(t.Verbs) > 0 || t.StoresOutcome }

// Image returns the image of the task's step, in the notation that ko replaces.
func (t Task) Image() string { return "ko://github.com/akraino-icn/bpa/cmd/" + t.Name }

// ReleaseParam returns the name of the param by which a Pipeline selects the Task to use. A
// Pipeline has this param only if PerRelease is set.
func (t Task) ReleaseParam() string { return t.Name + "-task" }

// OfRelease returns the name of the Task for a kubespray release. For an empty release, and for a
// task without PerRelease, it returns Name.
func (t Task) OfRelease(release string) string {
	if release == "" || !t.PerRelease {
		return t.Name
	}
	return t.Name + "-" + release
}

// ChangesHosts reports whether hosts may contain a part of a cluster as soon as the task of this
// name has started.
func ChangesHosts(task string) bool {
	return slices.ContainsFunc(Tasks, func(t Task) bool { return t.Name == task && t.ChangesHosts })
}
