package plan

import (
	"maps"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Seen is the world around one Provisioning, as plain facts.
type Seen struct {
	Namespace, Name string
	// Generation counts the edits of the spec.
	Generation int64

	Deleting bool
	Paused   bool

	// Slots are the names of the nodes that the spec asks for by name, Sets those that it asks for by number.
	Slots []string
	Sets  []contract.Set
	// Request is what the spec asks for, in the tasks' words; a run that starts is given it.
	Request contract.Request
	// Digest of the cluster that the spec describes, Inputs of everything that goes into a run, Retry the value of the retry annotation.
	Digest, Inputs, Retry string
	// Edited: the spec asks for another run than the newest one, by what both specs say: neither an upgrade of BPA nor the site's settings count, nor do
	// time-outs and the number of standby hosts.
	Edited bool
	// Changes lists what was edited since the newest run was started: "spec.PodSubnet: 10.1.0.0/16 -> 10.2.0.0/16". Revertible: the request's ConfigMap
	// holds the patch that puts the spec back.
	Changes    []string
	Revertible bool
	// Started is the request that the newest run was started with, which no edit changes while that run works; zero: it is not known.
	Started contract.Request
	// Invalid says why the spec cannot be read, which the webhook should have prevented.
	Invalid string
	// Settings says why the site's settings cannot be used, Depot why the depot cannot, and what to do; empty: they can.
	Settings, Depot string

	// Runs of this Provisioning, oldest first.
	Runs []Run
	// ForeignRuns are the PipelineRuns with this cluster's label that have not finished and that this Provisioning does not own, such as a run that a
	// person made of one of ours. Between two tasks such a run has neither a TaskRun nor a pod, and still works on the hosts.
	ForeignRuns []Run
	// Leftovers are objects of an earlier Provisioning of the same name that are not gone yet.
	Leftovers []string
	// Pods of runs that may still act; looked for only during deletion.
	Pods []string

	// Site are the hosts that this Provisioning holds and those that its nodes are on, by name; Nodes is what select-hosts wrote about them.
	Site  map[string]Host
	Nodes []contract.Node
	// Touched: a playbook has reached a host, so that something may be installed there; what tells it outlives the runs.
	Touched bool
	// Hosts is whether there is a host for every slot; nil: not looked, for nothing is about to start.
	Hosts *Need
	// SSH is whether there is a key to the hosts that can be used; nil: not looked. SSHKey is that key.
	SSH    *Need
	SSHKey SSHKey
	// KeyChanged: the newest run failed since a host refused the key that it was started with, and the Secret holds another one now.
	KeyChanged bool

	// Progress is what the kubespray task last wrote.
	Progress *contract.Progress
	// Kubeconfig is the stored one; nil: there is none.
	Kubeconfig *Kubeconfig
	// Collected: the last run brought a certificate that is still good, and its private key is still there.
	Collected bool

	// InstalledDigest is remembered in the status: what was installed, even after its run was deleted.
	InstalledDigest string

	Limits Limits
}

// Need is something without which no run starts.
type Need struct {
	// Missing says what is not there, and what to do; empty: all is there.
	Missing string
	// Reason is that of the condition that tells of it; empty: the usual one.
	Reason string
}

// SSHKey identifies a private key without giving it away.
type SSHKey struct {
	// Fingerprint is that of the public half, as ssh-keygen prints it.
	Fingerprint string
	// Version is the resourceVersion of the Secret. As long as it stays the same, so does the key.
	Version string
}

// Kubeconfig is what the Secret says of itself.
type Kubeconfig struct {
	Endpoint string
	Expires  time.Time
	Broken   string // why it cannot be used; empty: fine
}

// Limits are the site's settings.
type Limits struct {
	Attempts int32 // most attempts for one wanted state
	History  int   // finished runs to keep
}

// State of a run or a task.
type State int

const (
	Active State = iota
	Succeeded
	Failed
)

// Run is one PipelineRun.
type Run struct {
	Name      string
	Number    int32 // counts all runs
	Attempt   int32 // counts those for the same wanted state
	Operation string

	Digest, Inputs, Retry string   // what it was started for
	Carried               string   // Digest as the run carries it, if another build of BPA computed it; empty: the same
	Replaces              []string // the losses that it was started for, each a Loss.Key
	SSHKey                SSHKey   // what it was started with; empty: a build of BPA started it that did not write it down

	Generation int64 // of the Provisioning when it was started; 0: not known
	State      State
	Touched    bool // its playbook was started
	Cancelling bool // it was asked to stop
	Superseded bool // the controller asked it, since the spec was edited
	Reason     string
	Message    string // Tekton's
	Started    time.Time
	Completed  time.Time // zero while Active
	Tasks      []Task    // in the order of the pipeline, as far as they exist
}

// Task is one TaskRun of a run.
type Task struct {
	Name    string // in the pipeline
	State   State
	Reason  string
	Message string // Tekton's
	Failure *contract.Failure
	Results map[string]string
}

// task finds a task of the run by its name in the pipeline.
func (r Run) task(name string) *Task {
	for i := range r.Tasks {
		if r.Tasks[i].Name == name {
			return &r.Tasks[i]
		}
	}
	return nil
}

// Newest is the run that counts; nil before the first.
func (s Seen) Newest() *Run {
	if len(s.Runs) == 0 {
		return nil
	}
	return &s.Runs[len(s.Runs)-1]
}

// ActiveRuns are those that work. There is never more than one, unless a person started another.
func (s Seen) ActiveRuns() []Run {
	var active []Run
	for _, r := range s.Runs {
		if r.State == Active {
			active = append(active, r)
		}
	}
	return active
}

// wanted reports whether a run was started for what is wanted now, and with the key that is there now. A retry annotation that is taken away asks for
// nothing.
func (s Seen) wanted(r Run) bool {
	return !r.Superseded && !s.KeyChanged && r.Inputs == s.Inputs && (s.Retry == "" || r.Retry == s.Retry)
}

// Unedited reports whether the newest run and the cluster that is there are those of the present spec, as far as the digests tell.
func (s Seen) Unedited() bool {
	newest := s.Newest()
	return (s.InstalledDigest == "" || s.InstalledDigest == s.Digest) && (newest == nil || newest.Digest == s.Digest && newest.Inputs == s.Inputs)
}

// Recompute replaces the digests of the newest run and of the cluster that is there by the one that this build computes for what the newest run was
// started from. carried is the digest that this run carries; empty: it was not written down. Whatever digests other builds computed of a cluster that
// is there, they are of the same one: no run starts for another. It reports whether it replaced any.
func (s *Seen) Recompute(carried, digest string) bool {
	newest := s.Newest()
	if s.installedDigest() == "" && (newest == nil || carried != "" && carried != newest.Digest) {
		return false
	}
	if newest != nil {
		newest.Carried, newest.Digest = newest.Digest, digest
	}
	if s.InstalledDigest != "" {
		s.InstalledDigest = digest
	}
	return true
}

// installedDigest is that of the cluster that is there, or was before a later run failed on it; empty: none.
func (s Seen) installedDigest() string {
	if r := s.Newest(); r != nil && r.State == Succeeded {
		return r.Digest
	}
	return s.InstalledDigest
}

// Installed reports whether the cluster runs, as far as we know: the last run succeeded, or one did and no later one failed.
func (s Seen) Installed() bool {
	newest := s.Newest()
	if newest == nil || newest.State == Active {
		return newest == nil && s.InstalledDigest != ""
	}
	return newest.State == Succeeded
}

// asked reports whether a person wants another run and has not got it.
func (s Seen) asked() bool {
	newest := s.Newest()
	return s.Retry != "" && (newest == nil || newest.Retry != s.Retry)
}

// Starting reports whether nothing but what the world lacks keeps a run from starting now; only then it is worth looking for hosts and keys,
// and asking the API server itself whether hosts are lost.
func Starting(s Seen, now time.Time) bool {
	s.Hosts, s.SSH = &Need{}, &Need{}
	s.Site = maps.Clone(s.Site)
	for name, h := range s.Site {
		h.Live = true
		s.Site[name] = h
	}
	return Next(s, now).Do == StartRun
}
