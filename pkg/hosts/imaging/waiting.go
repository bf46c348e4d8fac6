package imaging

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// Kind tells which object a failure concerns. It decides what the task does.
type Kind int

const (
	// Gone: the host was deleted, its claim or its image was removed. A user or another client did
	// this, so the task chooses no other host by itself.
	Gone Kind = iota
	// BadHost: Metal3 failed on this host. Another host can replace it.
	BadHost
	// BadImage: other hosts would fail in the same way.
	BadImage
)

// Failed is the error for a host that does not get its operating system.
type Failed struct {
	Host string
	Node string
	Kind Kind
	Why  string // contains the message of Metal3
	// Open are all hosts, sorted, that do not have their operating system yet. It is set only for
	// BadImage.
	Open []string
}

func (e *Failed) Error() string {
	return fmt.Sprintf("host %s, claimed for %s, %s", e.Host, e.Node, e.Why)
}

// waiting has the last observed state of the hosts for which Await waits.
type waiting struct {
	log    io.Writer
	tick   <-chan time.Time  // when to report
	holder hosts.Owner       // the Provisioning
	nodes  map[string]string // node by host
	states map[string]state  // only hosts that are not ready
	failed map[string]*Failed
	*history
}

// state is the provisioning state of a host, and the time at which the host entered it.
type state struct {
	is    metal3.ProvisioningState
	since time.Time
}

// see records the state of a host, and logs it if it has changed.
func (w *waiting) see(host *metal3.BareMetalHost) {
	if _, awaited := w.nodes[host.Name]; !awaited {
		return
	}
	is := host.Status.Provisioning.State
	if n := w.history.see(host); n > 0 {
		fmt.Fprintf(w.log, "%s: installation failed (%d): %s\n", host.Name, n, strings.Join(strings.Fields(facts.Message(host)), " "))
	}
	why, failed := removed(host), w.judge(host, w.hopeful(host.Name))
	switch {
	case !w.holder.Holds(hosts.Host{Holder: facts.HolderOf(host)}):
		w.gone(host.Name)
	case why != "":
		w.fail(host.Name, Failed{Kind: Gone, Why: why})
	case ready(host):
		w.received = w.received || Ours(host)
		if _, waited := w.states[host.Name]; waited {
			fmt.Fprintf(w.log, "%s: %s\n", host.Name, is)
		}
		delete(w.states, host.Name)
	case failed != nil:
		w.fail(host.Name, *failed)
	case w.states[host.Name].is != is:
		w.states[host.Name] = state{is, time.Now()}
		fmt.Fprintf(w.log, "%s: %s\n", host.Name, is)
	}
}

// hopeful reports whether a host other than this one is not ready and has not failed yet.
func (w *waiting) hopeful(than string) bool {
	for name := range w.states {
		if name != than && w.failures[name] == 0 {
			return true
		}
	}
	return false
}

func (w *waiting) gone(host string) {
	w.fail(host, Failed{Kind: Gone, Why: "was deleted or is no longer held by the Provisioning"})
}

func (w *waiting) fail(host string, why Failed) {
	if node, awaited := w.nodes[host]; awaited && w.failed[host] == nil {
		why.Host, why.Node = host, node
		w.failed[host] = &why
		if why.Kind == BadHost {
			w.giveUp(host)
		}
	}
}

// ready reports whether the host has its operating system. Metal3 still reports "provisioned" for
// the old image until it has seen a new one. Therefore, the installed image must also have the URL
// of the requested image.
func ready(host *metal3.BareMetalHost) bool {
	if !Ours(host) {
		return !lacks(host)
	}
	p := host.Status.Provisioning
	return p.State == metal3.StateProvisioned && host.Spec.Image != nil && p.Image.URL == host.Spec.Image.URL
}

// lacks reports whether the host has no operating system, and the controller has not asked Metal3
// for one yet.
func lacks(host *metal3.BareMetalHost) bool {
	state := host.Status.Provisioning.State
	return (state == metal3.StateAvailable || state == metal3.StateReady) &&
		host.Spec.Image == nil && host.Spec.CustomDeploy == nil && !host.Spec.ExternallyProvisioned
}

// removed explains why a user must act before the host can get its operating system. It is empty if
// there is no such reason.
func removed(host *metal3.BareMetalHost) string {
	switch {
	case !host.DeletionTimestamp.IsZero():
		return "is being deleted"
	case host.Spec.Image == nil && Ours(host):
		return "no longer has the image that BPA set in its spec.image"
	}
	return ""
}

// done reports whether all hosts are ready. If a host has failed, done returns its error. Errors
// that end the run come first.
func (w *waiting) done() (bool, error) {
	var first *Failed
	for _, host := range sorted(w.failed) {
		if f := w.failed[host]; first == nil || first.Kind == BadHost && f.Kind != BadHost {
			first = f
		}
	}
	if first != nil && first.Kind == BadImage {
		first.Open = w.unready()
	}
	if first != nil {
		return false, first
	}
	return len(w.states) == 0, nil
}

// unready returns the hosts that do not have their operating system, sorted.
func (w *waiting) unready() []string {
	all := map[string]bool{}
	for host := range w.states {
		all[host] = true
	}
	for host := range w.failed {
		all[host] = true
	}
	return sorted(all)
}

// report logs the hosts that are not ready.
func (w *waiting) report() {
	for _, host := range sorted(w.states) {
		s := w.states[host]
		fmt.Fprintf(w.log, "%s: %s %s\n", host, s.is, time.Since(s.since).Round(time.Second))
	}
}

// open returns an error that names the hosts that are not ready, or nil if all are ready.
func (w *waiting) open() error {
	var open []string
	for _, host := range sorted(w.states) {
		open = append(open, fmt.Sprintf("%s is %s", host, w.states[host].is))
	}
	if len(open) == 0 {
		return nil
	}
	return errors.New(strings.Join(open, ", "))
}

func sorted[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
