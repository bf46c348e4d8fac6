package contract

import "slices"

// Operations.
const (
	// OperationInstall installs a cluster on the claimed hosts.
	OperationInstall = "install"
	// OperationAddNodes adds workers to an installed cluster, also in the place of lost ones. It runs
	// the tasks of an installation, but its playbook changes only the new hosts.
	OperationAddNodes = "add-nodes"
	// OperationAddControlPlane adds one control plane node to an installed cluster, also in the place
	// of a lost one. Its playbook changes the control planes, but no worker.
	OperationAddControlPlane = "add-control-plane"
	// OperationRemoveNodes removes workers: it drains them, removes them from the cluster and resets
	// their hosts.
	OperationRemoveNodes = "remove-nodes"
	// OperationRemoveControlPlane removes one control plane node and its member of etcd, in the same
	// way.
	OperationRemoveControlPlane = "remove-control-plane"
	// OperationUpgradeControlPlane upgrades one control plane node to another Kubernetes version, or
	// gives it other variables.
	OperationUpgradeControlPlane = "upgrade-control-plane"
	// OperationUpgradeNodes does the same with some workers, after all control planes.
	OperationUpgradeNodes = "upgrade-nodes"
	// OperationConfigure applies variables to a running cluster that need no drain and no restart of a
	// kubelet (Upgrade.Narrow). Its playbook runs only the tasks with some tags.
	OperationConfigure = "configure"
	// OperationCollect requests a client certificate for the kubeconfig. It changes no host. It
	// continues an installation that failed after its playbook, or renews a kubeconfig.
	OperationCollect = "collect"
	// OperationPlugins installs, upgrades and removes plugins of an installed cluster. It runs no
	// playbook of kubespray.
	OperationPlugins = "plugins"
	// OperationSoftware installs, updates and removes packages on nodes of an installed cluster. It runs no
	// playbook of kubespray.
	OperationSoftware = "software"
	// OperationReset removes the cluster from its hosts before they are released.
	OperationReset = "reset"
	// OperationRestore gives a cluster the content of a backup: it installs all control planes anew, with
	// the keys of the backup, and etcd with its snapshot. Its playbook changes no worker.
	OperationRestore = "restore"
	// OperationBackup makes a copy of etcd and of the keys of a cluster. It changes no host. Its run
	// belongs to a Backup, so it is not a run of the Provisioning.
	OperationBackup = "backup"
)

// Pipelines, in tekton/pipelines.
const (
	PipelineInstall  = "bpa-install"
	PipelineRemove   = "bpa-remove"
	PipelineUpgrade  = "bpa-upgrade"
	PipelineCollect  = "bpa-collect"
	PipelinePlugins  = "bpa-plugins"
	PipelineSoftware = "bpa-software"
	PipelineRestore  = "bpa-restore"
	PipelineReset    = "bpa-reset"
	PipelineBackup   = "bpa-backup"
)

// Playbooks of kubespray.
const (
	// PlaybookInstall creates a cluster. In an existing cluster, it adds the missing nodes.
	PlaybookInstall = "cluster.yml"
	// PlaybookScale adds workers to an existing cluster. The task kubespray limits it to the new
	// ones, so that it does not change the other nodes.
	PlaybookScale = "scale.yml"
	// PlaybookRemove removes nodes from an existing cluster.
	PlaybookRemove = "remove-node.yml"
	// PlaybookUpgrade upgrades nodes of an existing cluster. The task kubespray limits it to the nodes
	// of Request.Upgrade.
	PlaybookUpgrade = "upgrade-cluster.yml"
	// PlaybookReset removes a cluster from its machines.
	PlaybookReset = "reset.yml"
)

// Operation describes what a run does. The controller derives the run's Pipeline, its params,
// accounts and progress from it. A test compares the description with the Pipelines.
type Operation struct {
	Name     string // the value of LabelOperation
	Pipeline string
	// Playbook is the playbook that the task kubespray runs; empty: the Pipeline does not have this
	// task.
	Playbook string
	// Purpose completes "attempt 2 to", such as "install the cluster".
	Purpose string
	// Done is the result for a column of `kubectl get`, such as "installed".
	Done string
	// Steps are the tasks of the Pipeline, in their order.
	Steps []Step
	// does is what a run does with the cluster. The functions below explain it.
	does effect
}

// effect is a set of the constants below.
type effect int

const (
	addsNodes effect = 1 << iota
	changesCluster
	excludesBackup
	upgrades
	endsEarly
	needsNoHosts
)

// Step is one task of an operation.
type Step struct {
	Task string
	// Percent is the progress of the whole run, 0 to 100, after the task has succeeded.
	Percent int32
}

// installSteps are the tasks of PipelineInstall and PipelineRestore. The percentages reflect measurements, in
// which all tasks except kubespray took only seconds. A run installs plugins only with ParamPlugins, and enrolls
// hosts only with ParamEnroll.
var installSteps = []Step{{TaskSeedRegistry, 2}, {TaskSelectHosts, 4}, {TaskEnroll, 5}, {TaskRenderInventory, 6}, {TaskKubespray, 97}, {TaskCollectKubeconfig, 98}, {TaskInstallPlugins, 99}}

var removeSteps = []Step{{TaskEnroll, 1}, {TaskRenderInventory, 2}, {TaskKubespray, 95}, {TaskCollectKubeconfig, 99}}

// upgradeSteps are the tasks of PipelineUpgrade. The kubeconfig stays valid, so it is not collected.
var upgradeSteps = []Step{{TaskSeedRegistry, 4}, {TaskEnroll, 5}, {TaskRenderInventory, 6}, {TaskKubespray, 99}}

// Operations are all operations of a Provisioning. For a cluster that is installed, package change chooses the next one.
var Operations = []Operation{
	{Name: OperationInstall, Pipeline: PipelineInstall, Playbook: PlaybookInstall, Purpose: "install the cluster", Done: "installed", Steps: installSteps, does: addsNodes | excludesBackup},
	{Name: OperationAddNodes, Pipeline: PipelineInstall, Playbook: PlaybookScale, Purpose: "add nodes", Done: "installed", Steps: installSteps, does: addsNodes | changesCluster},
	{Name: OperationAddControlPlane, Pipeline: PipelineInstall, Playbook: PlaybookInstall, Purpose: "add a control plane node", Done: "installed", Steps: installSteps, does: addsNodes | changesCluster | excludesBackup},
	{Name: OperationRemoveNodes, Pipeline: PipelineRemove, Playbook: PlaybookRemove, Purpose: "remove nodes", Done: "installed", Steps: removeSteps, does: changesCluster | endsEarly},
	{Name: OperationRemoveControlPlane, Pipeline: PipelineRemove, Playbook: PlaybookRemove, Purpose: "remove a control plane node", Done: "installed", Steps: removeSteps, does: changesCluster | excludesBackup | endsEarly},
	{Name: OperationUpgradeControlPlane, Pipeline: PipelineUpgrade, Playbook: PlaybookUpgrade, Purpose: "upgrade a control plane node", Done: "installed", Steps: upgradeSteps, does: changesCluster | excludesBackup | upgrades | endsEarly | needsNoHosts},
	{Name: OperationUpgradeNodes, Pipeline: PipelineUpgrade, Playbook: PlaybookUpgrade, Purpose: "upgrade nodes", Done: "installed", Steps: upgradeSteps, does: changesCluster | upgrades | endsEarly | needsNoHosts},
	{Name: OperationConfigure, Pipeline: PipelineUpgrade, Playbook: PlaybookInstall, Purpose: "apply variables", Done: "installed", Steps: upgradeSteps, does: changesCluster | upgrades | needsNoHosts},
	{Name: OperationRestore, Pipeline: PipelineRestore, Playbook: PlaybookInstall, Purpose: "restore the cluster from a backup", Done: "restored", Steps: installSteps, does: changesCluster | excludesBackup},
	{Name: OperationCollect, Pipeline: PipelineCollect, Purpose: "collect the kubeconfig", Done: "installed", Steps: []Step{{TaskEnroll, 5}, {TaskCollectKubeconfig, 99}}, does: needsNoHosts},
	{Name: OperationPlugins, Pipeline: PipelinePlugins, Purpose: "install the plugins", Done: "installed",
		Steps: []Step{{TaskSeedRegistry, 10}, {TaskEnroll, 12}, {TaskRenderInventory, 15}, {TaskInstallPlugins, 99}}, does: needsNoHosts},
	{Name: OperationSoftware, Pipeline: PipelineSoftware, Purpose: "install software on the nodes", Done: "installed",
		Steps: []Step{{TaskEnroll, 3}, {TaskRenderInventory, 5}, {TaskInstallSoftware, 99}}, does: endsEarly | needsNoHosts},
	{Name: OperationReset, Pipeline: PipelineReset, Playbook: PlaybookReset, Purpose: "reset the hosts", Done: "reset",
		Steps: []Step{{TaskEnroll, 5}, {TaskKubespray, 99}}, does: excludesBackup},
}

// BackupOperation is the operation of the run of a Backup. It is none of Operations, because the run
// belongs to the Backup, and the Provisioning does not wait for it.
var BackupOperation = Operation{Name: OperationBackup, Pipeline: PipelineBackup, Purpose: "back up the cluster", Done: "backed up", Steps: []Step{{TaskEnroll, 10}, {TaskBackup, 99}}}

// OperationOf returns the operation of this name. For an unknown name, which only a run of another
// build can have, it returns the operation install.
func OperationOf(name string) Operation {
	i := slices.IndexFunc(Operations, func(o Operation) bool { return o.Name == name })
	return Operations[max(i, 0)]
}

// Has reports whether the task is a step of the operation.
func (o Operation) Has(task string) bool {
	return slices.ContainsFunc(o.Steps, func(s Step) bool { return s.Task == task })
}

// AddsNodes reports whether the operation makes machines nodes, which then get the packages of the cluster.
func (o Operation) AddsNodes() bool { return o.does&addsNodes != 0 }

// ChangesCluster reports whether the operation changes the nodes of an installed cluster: it adds,
// removes, upgrades or restores some of them, or gives all of them other variables.
func (o Operation) ChangesCluster() bool { return o.does&changesCluster != 0 }

// ExcludesBackup reports whether the operation changes the members of etcd, or their machines: it does not run
// beside a Backup. A snapshot beside any other operation is consistent.
func (o Operation) ExcludesBackup() bool { return o.does&excludesBackup != 0 }

// Upgrades reports whether the requests of the operation have an Upgrade.
func (o Operation) Upgrades() bool { return o.does&upgrades != 0 }

// EndsEarly reports whether a run of the operation goes from node to node, and can be asked to end after those on which
// it works (KeyEnds). A later run does the rest.
func (o Operation) EndsEarly() bool { return o.does&endsEarly != 0 }

// NeedsNoHosts reports whether the operation needs no other hosts than those of the cluster.
func (o Operation) NeedsNoHosts() bool { return o.does&needsNoHosts != 0 }

// Tasks returns the descriptions of the operation's tasks, in their order.
func (o Operation) Tasks() []Task {
	var all []Task
	for _, s := range o.Steps {
		all = append(all, TaskOf(s.Task))
	}
	return all
}
