package contract

// Retry is when the controller starts the next attempt after a run that has failed for a reason.
type Retry int

const (
	// RetryNever: not without a change by a user.
	RetryNever Retry = iota
	// RetryLimited: after growing intervals, up to the site's number of attempts.
	RetryLimited
	// RetryEndless: after growing intervals, without a limit.
	RetryEndless
	// RetryUntilInstalled: as RetryEndless while no cluster is installed, and as RetryLimited after that.
	RetryUntilInstalled
	// RetryInARow: without a limit, because a precondition can be missing for days. The intervals grow with the number
	// of runs in a row that failed for this reason. A run that has started no playbook costs no attempt.
	RetryInARow
	// RetryBeforePlaybook: as RetryInARow if the run has started no playbook, and as RetryLimited otherwise.
	RetryBeforePlaybook
	// RetryEvery: after the first interval, always the same, and without an attempt, if the run has started no
	// playbook; as RetryLimited otherwise.
	RetryEvery
	// RetryAtOnce: as soon as the caches can show what the run has found out. The run was no attempt.
	RetryAtOnce
)

// FailurePolicy is what becomes of a cluster after a run has failed for a reason, and what a user is told. A hint can have
// these words:
//
//	{look}          where to see why the run has failed
//	{annotate}      the command that requests another run
//	{again}         {annotate} after a repair, or a change of the spec
//	{namespace}, {name}, {known-hosts}
//	{task}, {release}  of a task that the site does not have
type FailurePolicy struct {
	Retry Retry
	// Waiting is the hint while the controller retries; empty: there is nothing to do.
	Waiting string
	// Hint is the hint when it does not retry; empty: find the cause in the log. Elsewhere replaces it after a failure
	// in another task than kubespray.
	Hint, Elsewhere string
}

const continues = "; the controller then continues automatically"

// FailurePolicies has the failure policy of each reason. The column "retry" of docs/reasons.md says the same.
var FailurePolicies = map[Reason]FailurePolicy{
	ReasonHostsNotAvailable: {Retry: RetryInARow},
	ReasonAddressMissing:    {Hint: "make sure that the BareMetalHost's hardware details contain an IP address, {again}"},

	ReasonHostProvisioningFailed: {Retry: RetryLimited},
	ReasonHostUnreachable:        {Retry: RetryUntilInstalled},

	// A machine that has lost the key of the cluster gets it again in the next attempt: see retryAt in package plan.
	ReasonSSHDenied: {Hint: "store a key that can log in as spec.ssh.user in the Secret of spec.ssh.secretName; the controller then retries automatically. " +
		"Or authorize the current key on the host, {again}"},
	ReasonHostKeyChanged: {Hint: "if the host was reinstalled, delete its line from ConfigMap {known-hosts}, {again}"},
	ReasonWrongMachine: {Hint: "correct the host's address at its source (network data or DHCP), or correct spec.bootMACAddress of the BareMetalHost if the machine is the right one, " +
		"{again}"},
	ReasonHostOccupied: {
		Hint:      "to remove that cluster and everything else from the machine, run the commands in the message, {again}",
		Elsewhere: "do what the message says, {again}", // a task that enters the cluster does not find its own there
	},
	ReasonPreflightFailed: {Hint: "correct the hosts as the message says; `kubectl describe bpa -n {namespace} {name}` shows all findings, {again}"},
	ReasonResetIncomplete: {Retry: RetryLimited},

	// The number of drains is limited, because each one evicts pods again.
	ReasonDrainBlocked: {
		Retry:   RetryLimited,
		Waiting: "make the pods leave that the message names, for example by more replicas, or take back the edit" + continues,
		Hint: "make the pods leave that the message names, for example by more replicas or a larger spec.timeouts.drain (of an upgrade: spec.upgrade.drainTimeout), then {annotate}" +
			"; or take back the edit, and the node stays",
	},
	// Such a run has changed nothing, or it has patched a node that it may not reboot; the next one checks etcd before
	// it drains this node.
	ReasonQuorumAtRisk: {Retry: RetryEndless, Waiting: "make the control planes healthy that the message names, or take back the edit" + continues},
	ReasonHostsNotFenced: {
		Retry: RetryAtOnce, Waiting: "nothing: the controller powers the lost hosts off, and then starts the next run"},

	ReasonPlaybookFailed:   {}, // once, without acceleration, if that can be the cause (Failure.Accelerated)
	ReasonDownloadFailed:   {Retry: RetryLimited},
	ReasonPackagesLocked:   {Retry: RetryLimited},
	ReasonTaskTimedOut:     {Retry: RetryLimited},
	ReasonClusterUnhealthy: {Retry: RetryLimited},
	ReasonAPIUnavailable:   {Retry: RetryLimited},

	ReasonArtifactsMissing: {Retry: RetryInARow, Waiting: "upload the missing artifacts to the depot" + continues},
	ReasonDepotUnavailable: {
		Retry:   RetryInARow,
		Waiting: "check that the depot is running and answers at the address in the Provisioning or in ConfigMap config-bpa" + continues,
	},
	ReasonBackupFailed: {}, // only a Backup has it

	// Many plugins become ready when something else does.
	ReasonPluginFailed: {
		Retry: RetryLimited,
		Hint: "`kubectl bpa status -n {namespace} {name}` shows each plugin; correct its parameters in spec.plugins, or remove it from spec.KUDPlugins; or fix the cause in the cluster, " +
			"then `kubectl bpa retry -n {namespace} {name}`",
	},
	ReasonVarsChanged: {Retry: RetryLimited}, // the next run uses the present content

	ReasonInvalidRequest: {},
	ReasonInternal:       {},
	ReasonTimeout:        {Hint: "{look}; if the run only needs more time, raise spec.timeouts.install"},
	ReasonCancelled:      {Hint: "to start another run, use {annotate}, or change the spec"},

	ReasonImagePullFailed: {Retry: RetryLimited},
	ReasonOutOfMemory:     {Hint: "raise the memory limit in the Task, {again}"}, // of a playbook once, as PlaybookFailed
	ReasonPodLost:         {Retry: RetryLimited},

	ReasonPipelineMissing: {Retry: RetryEvery, Waiting: "if the Pipeline or a Task is missing, apply BPA's config/ again" + continues},
	ReasonReleaseMissing: {Hint: "there is no Task {task} in namespace bpa-system for kubespray release {release}. `kubectl get tasks -n bpa-system` lists the installed Tasks. " +
		"Correct spec.kubespray.release, or leave it out to use the Tasks without a release; the controller then retries automatically. " +
		"Or install the Tasks of release {release}, then {annotate}"},
	ReasonVersionSkew: {
		Retry: RetryBeforePlaybook, Waiting: "if no upgrade of BPA is in progress, apply the config/ of one release again" + continues},
	ReasonRunFailed: {},
}

// Transient reports whether another attempt may succeed without a change by a user.
func (r Reason) Transient() bool { return FailurePolicies[r].Retry != RetryNever }

// Costless reports whether a run that failed for the reason does not count as an attempt: a precondition was missing that
// can be missing for a long time, and waiting for it must not use up the attempts. played means that the run may have
// started a playbook. A run that only proves that a restore can begin is no attempt either.
func (r Reason) Costless(played bool) bool {
	switch FailurePolicies[r].Retry {
	case RetryAtOnce:
		return true
	case RetryInARow, RetryBeforePlaybook, RetryEvery:
		return !played
	}
	return false
}
