package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
)

// Seen is the observed state of one Provisioning, as plain facts.
type Seen struct {
	Namespace, Name string
	// Generation counts the edits of the spec.
	Generation int64

	Deleting bool
	// Foreground means that a user has deleted the Provisioning in the foreground, and that Kubernetes'
	// garbage collector has not come to the end of its dependents: it may delete any of them.
	Foreground bool
	Paused     bool
	// Retain means that spec.deletionPolicy is Retain.
	Retain bool
	// Terminating means that the namespace is being deleted, so that no run can be created in it.
	// It is observed only during deletion.
	Terminating bool

	// Slots are the names of the nodes that the spec requests by name. Sets are the node sets, for
	// which the spec requests a number of nodes.
	Slots []string
	Sets  []contract.Set
	// Request is the request that the spec describes. A run that starts receives it.
	Request contract.Request
	// Digest identifies the cluster that the spec describes. Inputs identifies all inputs of a run.
	// Retry is the value of the retry annotation.
	Digest, Inputs, Retry string
	// Edited means that the spec was changed after the newest run was started, in a way that
	// requires another run. An upgrade of BPA does not count, nor do changes of the site's
	// settings, of time-outs and of the number of standby hosts.
	Edited bool
	// Changes lists the edits since the newest run was started, such as "spec.PodSubnet:
	// 10.1.0.0/16 -> 10.2.0.0/16". Revertible means that the request's ConfigMap holds a patch that
	// restores the spec from before these edits.
	Changes    []string
	Revertible bool
	// Started is the request of the newest run, which nobody can change. It is the zero value if there is no run, if a
	// user has deleted the request, or has made the run.
	Started contract.Request
	// Removal is what the run LastChange was to remove; nil: nothing, or it is not known.
	Removal *contract.Removal
	// Restore is the value of contract.AnnotationRestore. Restored is the status of a restore that is
	// stored; nil: there is none.
	Restore  string
	Restored *v1alpha1.RestoreStatus
	// Proved is the value of contract.KeyProved.
	Proved string
	// Source is the Backup that a requested restore needs. Backup is the newest successful Backup of the
	// cluster; nil: there is none. Both are observed only if NeedsBackups reports so.
	Source Source
	Backup *v1alpha1.Backup
	// Unpinned are the names of members that are not lost and have no pinned SSH host key. They are observed
	// only if Retries reports so: a user who has deleted the line of a member then requests a run.
	Unpinned []string
	// BackingUp is the name of a Backup of this cluster whose run is active; empty: there is none. It is
	// observed if a run could start that excludes it.
	BackingUp string
	// Invalid explains why the spec cannot be used. The webhook should have rejected such a spec.
	Invalid string
	// Vars explains why the variables in Secrets cannot be used, and names the next action. Empty: they can.
	Vars string
	// VarsChanged are the names of the variables that have other values in Secrets than the newest run was started with.
	VarsChanged []string
	// Settings explains why the site's settings cannot be used, and Depot why the depot cannot be
	// used. Both name the next action. Empty: there is no problem.
	Settings, Depot string

	// Runs of this Provisioning, oldest first, except those in Software.
	Runs []Run
	// ForeignRuns are active PipelineRuns that have this cluster's label, but are not owned by this
	// Provisioning, such as a user's copy of a run. Between two tasks such a run has neither an
	// active TaskRun nor a pod, but its next task may still change the hosts.
	ForeignRuns []Run
	// Leftovers are objects of an earlier Provisioning of the same name that are not deleted yet.
	Leftovers []string
	// Pods are the pods of runs that may still change something. They are listed only during
	// deletion.
	Pods []string

	// Site has, by name, the hosts that this Provisioning holds and the hosts of its nodes. Nodes
	// are the nodes for which select-hosts has claimed hosts at last (contract.KeyClaimed). Relisted means that
	// the record lacks them, and that they were made from the claims.
	Site     map[string]Host
	Nodes    []contract.Node
	Relisted bool
	// Memory is the record of what is installed; nil: there is none, and it could not be rebuilt.
	Memory *contract.Installed
	// Rebuilt means that Memory was rebuilt, because no task has stored it.
	Rebuilt bool
	// Replace is the policy by which lost hosts are replaced; empty: the default.
	Replace v1alpha1.ReplacePolicy
	// Upgrade describes how an upgrade goes from node to node.
	Upgrade v1alpha1.UpgradeSpec
	// NodeLabels are the names of the Nodes' labels by those of the hosts' labels from which they come; nil: none.
	NodeLabels map[string]string
	// RemoveFirst means that nodes are removed before others are added, because there is no host for
	// the new nodes. It is observed together with Hosts.
	RemoveFirst bool
	// NoSpare explains why no host can replace the lost nodes or be a missing standby; empty: some host can, or
	// none is needed. Steps that need no host then do not wait for one: see WithoutSpare.
	NoSpare string
	// States has the states of hosts that the task kubespray has recorded. Recorded means that this
	// record exists; otherwise it is lost, or no run has begun to change a host.
	States   contract.HostStates
	Recorded bool
	// Touched means that a run has reached a host, so that something may be installed there. It has a meaning only if Recorded is false.
	Touched bool
	// Hosts is the precondition that there is a suitable host for every requested node; nil: not
	// checked, because no run is about to start.
	Hosts *Need
	// SSH is the precondition that there is a usable SSH key to the hosts; nil: not checked. SSHKey
	// identifies that key.
	SSH    *Need
	SSHKey SSHKey
	// Queue is the queue for the run that could start now, and in which the Provisioning waits or
	// would have to wait; nil: no run could start, or the site has no limit.
	Queue *Queue
	// KeyChanged means that the newest run failed because a host rejected its SSH key, and that the
	// Secret now holds another key.
	KeyChanged bool

	// Health is what the looks at the installed cluster have shown; nil: nothing is known yet, and the
	// status stays as it is. Looking means that the first looks are not complete.
	Health  *Health
	Looking bool

	// Progress is the last progress that the kubespray task wrote.
	Progress *contract.Progress
	// Plugins are what is known about the plugins of the cluster.
	Plugins Plugins
	// Software is what is known about the Softwares of the cluster.
	Software Softwares
	// Beside is the step for which the active run ends early (see Beside); nil: there is none. Ends is the run, other
	// than one for Softwares, that is asked to end; empty: none was.
	Beside *Step
	Ends   string
	// Kubeconfig is the stored kubeconfig; nil: there is none.
	Kubeconfig *Kubeconfig
	// Collected means that a kubeconfig can be created without a run: the last run that has collected one (see
	// LastCollected) returned, or the Secret with its key keeps, a certificate that is still valid, and the key exists.
	Collected bool

	// PassedOver are the hosts that the stored status passes over. Failed are the claimed hosts that
	// select-hosts has given up because they did not receive their image.
	PassedOver []v1alpha1.PassedOverHost
	// PassOver are the hosts that a run which starts now must not choose. It is observed together
	// with Hosts.
	PassOver []string
	Failed   []FailedHost

	// Numbered is the largest number of the runs in the status; 0: there was none.
	Numbered int32
	// InstalledDigest is the digest in the status. ObservedRetry is the value of the retry annotation with which the
	// newest run was started. Both are known even after the runs were deleted.
	InstalledDigest, ObservedRetry string
	// Checks are what LastCheck has found out; nil: it has not checked its hosts yet, or there is none. Nothing is decided by it.
	Checks *Checks

	Limits Limits

	endsEarly bool     // the state is that of Beside for a run in Runs
	derived   *derived // nil: the facts may still change
}

// Need is a precondition of a run.
type Need struct {
	// Missing describes what is missing and the next action; empty: nothing is missing.
	Missing string
	// Reason is the reason of the condition if something is missing; empty: the default reason of
	// this need.
	Reason string
}

// SSHKey identifies a private key without revealing it.
type SSHKey struct {
	// Fingerprint is the fingerprint of the public key, as ssh-keygen prints it.
	Fingerprint string
	// Version is the resourceVersion of the Secret. If it is unchanged, the key is unchanged too.
	Version string
}

// Kubeconfig describes the stored kubeconfig.
type Kubeconfig struct {
	Endpoint string
	Expires  time.Time
	Broken   string // why it cannot be used; empty: it can be used
	// Outdated means that the kubeconfig was issued before the last restore of the cluster, so that a run must collect another one.
	Outdated bool
}

// Limits are the site's settings.
type Limits struct {
	Attempts int32 // maximum number of attempts for one requested state
	History  int   // finished runs to keep
	// HistoryAge is the time after which a finished run is deleted, if it is not one of the newest two; 0: no limit.
	HistoryAge time.Duration
	Runs       int // maximum number of runs at a time on the whole site; 0: no limit
	// Drain is the time in which the pods of a node must have left it before it is removed, and
	// UpgradeDrain that before it is upgraded.
	Drain, UpgradeDrain time.Duration
	// Run is the time limit of a run that changes the cluster; 0: none.
	Run time.Duration
}

// State is the state of a run or a task.
type State = runs.State

const (
	Active    = runs.Active
	Succeeded = runs.Succeeded
	Failed    = runs.Failed
)

// Run is one PipelineRun.
type Run struct {
	Name      string
	Number    int32 // number among all runs
	Attempt   int32 // which attempt at the same requested state this run is, from 1; a failure that costs no attempt does not raise it
	Operation string
	Request   Request

	Digest, Inputs, Retry string   // the values when the run was started
	Carried               string   // the digest in the run's annotations, if Recompute has replaced Digest; empty: Digest is unchanged
	Restore               string   // contract.Restore.Asked of the backup that the run restores; empty: none
	Plugins               string   // contract.PluginsDigest of its request; empty: it has no plugins
	Asked                 string   // contract.SoftwareRun.Asked of its request
	Replaces              []string // the losses that the run repairs; each is the result of Loss.Key
	SSHKey                SSHKey   // the key of the site when the run was started; empty: not known
	Enrolls               bool     // the run installs the key of the cluster on its hosts

	Generation int64 // generation of the Provisioning when the run was started; 0: not known
	State      State
	Touched    bool // its task kubespray was started, and may have changed hosts
	Cancelling bool // the run was asked to stop
	Superseded bool // the controller asked it to stop because the spec was edited
	Leaving    bool // it is deleted, and a finalizer of another program, such as Tekton Results, still holds it
	Reason     string
	Message    string // Tekton's
	Started    time.Time
	Completed  time.Time // zero while Active
	Tasks      []Task    // the tasks that exist so far, in the order of the pipeline
}

// Request identifies the ConfigMap with the request of a run.
type Request struct {
	Name string
	UID  types.UID // empty: a user has made the run
}

// Task is one TaskRun of a run.
type Task = runs.Task

// task returns the task that has this name in the pipeline, or nil if it does not exist.
func (r Run) task(name string) *Task {
	for i := range r.Tasks {
		if r.Tasks[i].Name == name {
			return &r.Tasks[i]
		}
	}
	return nil
}

// Newest returns the newest run, which determines the state; nil before the first run. A run for Softwares
// determines nothing.
func (s Seen) Newest() *Run {
	if len(s.Runs) == 0 {
		return nil
	}
	return &s.Runs[len(s.Runs)-1]
}

// ActiveRuns returns the active runs. There is at most one, unless a user has started another.
func (s Seen) ActiveRuns() []Run {
	var active []Run
	for _, r := range slices.Concat(s.Runs, s.Software.Runs) {
		if r.State == Active {
			active = append(active, r)
		}
	}
	return active
}

// wanted reports whether the newest run r is still the run that the user wants. It returns false if
// the controller stopped r because of an edit, if the inputs have changed, if the SSH key that a
// host rejected was replaced, or if the retry annotation has a new value. Removing that annotation
// does not request another run.
func (s Seen) wanted(r Run) bool {
	return !r.Superseded && !s.KeyChanged && r.Inputs == s.Inputs && (s.Retry == "" || r.Retry == s.Retry)
}

// Unedited reports whether the digests show that the newest run and the installed cluster match the
// current spec.
func (s Seen) Unedited() bool {
	newest := s.Newest()
	return (s.InstalledDigest == "" || s.InstalledDigest == s.Digest) && (newest == nil || newest.Digest == s.Digest && newest.Inputs == s.Inputs)
}

// Recompute replaces the digests of the newest run and of the installed cluster by digest, which this build
// has computed from the spec of the newest run. If a cluster is installed, both digests describe that
// cluster, because no run starts for another one.
func (s *Seen) Recompute(digest string) {
	newest := s.Newest()
	newest.Carried, newest.Digest = newest.Digest, digest
	if s.InstalledDigest != "" {
		s.InstalledDigest = digest
	}
}

// installedDigest returns the digest of the installed cluster, even if a later run failed in this
// cluster. It is empty if no cluster is installed.
func (s Seen) installedDigest() string {
	if r := s.Newest(); r != nil && r.State != Active && r.built() && (r.State == Succeeded || r.Operation != contract.OperationPlugins) {
		return r.Digest
	}
	return s.InstalledDigest
}

// Installed reports whether the cluster runs and is complete, as far as this is known: the newest
// run succeeded, or only its plugins have failed, or all runs were deleted, or the newest run failed and
// has no meaning any more. While a run is active, it returns false.
func (s Seen) Installed() bool {
	newest := s.Newest()
	switch {
	case newest == nil:
		return s.Complete()
	case newest.State == Succeeded:
		return !newest.resets()
	}
	return newest.State == Failed && (newest.built() && s.Complete() || s.settled())
}

// settled reports whether the newest run, which failed, has no meaning any more, because the installed
// cluster is the requested one: a user has taken back the edit that the run was to apply, or the lost
// hosts that it was to replace are back. An upgrade that was taken back after it has begun is not
// settled, because nodes have the newer version. Without a kubeconfig, another run must collect one.
func (s Seen) settled() bool {
	newest := s.Newest()
	if newest == nil || newest.State != Failed || newest.resets() || s.Memory == nil || !s.Complete() || s.asked() || s.PluginChange() != "" {
		return false
	}
	if s.Kubeconfig == nil || s.Kubeconfig.Outdated {
		return false
	}
	if _, changes := s.nextChange(); changes || s.Started.Upgrade != nil && s.upgrading() != nil {
		return false
	}
	if newest.Operation == contract.OperationRestore { // the request was taken back before anything was changed
		return s.RestoreAsked() == "" && s.Memory.Restored != newest.Restore
	}
	return !s.wanted(*newest) || len(newest.Replaces) > 0 && s.back(newest.Replaces) && !s.onlyCollects()
}

// isLost reports whether a loss with this key exists.
func (s Seen) isLost(key string) bool {
	return slices.ContainsFunc(s.losses(), func(l Loss) bool { return l.Key() == key })
}

// back reports whether all nodes with these keys have their former hosts again. A run that has replaced such a node
// in the record, and failed after that, has repaired the loss in another way.
func (s Seen) back(keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		return s.isLost(key) || slices.ContainsFunc(s.Started.Members, func(was contract.Node) bool {
			changed := func(n contract.Node) bool { return n.Name == was.Name && n.HostUID != was.HostUID }
			return Loss{Node: was}.Key() == key && slices.ContainsFunc(s.members(), changed)
		})
	})
}

// Complete reports whether the cluster was installed completely once.
func (s Seen) Complete() bool { return s.installedDigest() != "" || s.Memory != nil }

// Retries reports whether a user requests another run in an installed cluster.
func (s Seen) Retries() bool { return s.asked() && s.Memory != nil && s.Complete() && !s.Deleting }

// asked reports whether a user has requested another run that has not started yet.
func (s Seen) asked() bool {
	newest := s.Newest() // the status can be older, or newer: whoever deletes a run leaves the earlier ones
	return s.Retry != "" && s.Retry != s.ObservedRetry && (newest == nil || s.Retry != newest.Retry)
}
