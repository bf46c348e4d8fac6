package imaging

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

// hiccups is how many errors in a row Metal3 may have with a host, other than with the image, before that counts.
const hiccups = 3

// Failed is the error of a host that does not get its operating system.
type Failed struct {
	Host string
	Node string
	Why  string // with Metal3's message
}

func (e *Failed) Error() string {
	return fmt.Sprintf("host %s, claimed for %s, %s", e.Host, e.Node, e.Why)
}

// waiting is what was seen of the hosts so far.
type waiting struct {
	log    io.Writer
	tick   <-chan time.Time  // when to tell
	holder string            // the Provisioning
	nodes  map[string]string // node by host
	states map[string]state  // of the hosts that are not ready
	failed map[string]error
}

// state is what a host does.
type state struct {
	is    metal3.ProvisioningState
	since time.Time
}

// see notes what a host does.
func (w *waiting) see(host *metal3.BareMetalHost) {
	if _, awaited := w.nodes[host.Name]; !awaited {
		return
	}
	is := host.Status.Provisioning.State
	switch why := trouble(host); {
	case !heldBy(host.Spec.ConsumerRef, w.holder):
		w.gone(host.Name)
	case why != "":
		w.fail(host.Name, why)
	case ready(host):
		if _, waited := w.states[host.Name]; waited {
			fmt.Fprintf(w.log, "%s: %s\n", host.Name, is)
		}
		delete(w.states, host.Name)
	case w.states[host.Name].is != is:
		w.states[host.Name] = state{is, time.Now()}
		fmt.Fprintf(w.log, "%s: %s\n", host.Name, is)
	}
}

// heldBy reports whether a reference is that of a Provisioning of this name. Others' objects may have the name too.
func heldBy(ref *corev1.ObjectReference, holder string) bool {
	return ref != nil && ref.Kind == hosts.Kind && ref.Name == holder && strings.HasPrefix(ref.APIVersion, hosts.Group+"/")
}

func (w *waiting) gone(host string) { w.fail(host, "is not held for it any more") }

func (w *waiting) fail(host, why string) {
	if _, awaited := w.nodes[host]; awaited && w.failed[host] == nil {
		w.failed[host] = &Failed{Host: host, Node: w.nodes[host], Why: why}
	}
}

// ready: the host has its operating system. Metal3 says provisioned before it has seen a new image, so both must be the same.
func ready(host *metal3.BareMetalHost) bool {
	if !Ours(host) {
		return !lacks(host)
	}
	p := host.Status.Provisioning
	return p.State == metal3.StateProvisioned && host.Spec.Image != nil && p.Image.URL == host.Spec.Image.URL
}

// lacks: the host has no operating system, and the controller has not asked Metal3 for one yet.
func lacks(host *metal3.BareMetalHost) bool {
	state := host.Status.Provisioning.State
	return (state == metal3.StateAvailable || state == metal3.StateReady) &&
		host.Spec.Image == nil && host.Spec.CustomDeploy == nil && !host.Spec.ExternallyProvisioned
}

// trouble is what keeps a host from its operating system for good; empty: nothing.
func trouble(host *metal3.BareMetalHost) string {
	switch e := host.Status; {
	case !host.DeletionTimestamp.IsZero():
		return "is being deleted"
	case ready(host):
		return ""
	case host.Spec.Image == nil && Ours(host):
		return "has lost the image that we gave it"
	case e.ErrorMessage != "" && (e.ErrorType == metal3.ProvisioningError || e.ErrorCount >= hiccups):
		said := strings.Join(strings.Fields(e.ErrorMessage), " ")
		return fmt.Sprintf("does not get its operating system: %s%s: %s", advice(said), e.ErrorType, said)
	}
	return ""
}

// done: all hosts are ready, or one is not to be.
func (w *waiting) done() (bool, error) {
	for _, host := range sorted(w.failed) {
		return false, w.failed[host]
	}
	return len(w.states) == 0, nil
}

// report says what goes on.
func (w *waiting) report() {
	for _, host := range sorted(w.states) {
		s := w.states[host]
		fmt.Fprintf(w.log, "%s: %s %s\n", host, s.is, time.Since(s.since).Round(time.Second))
	}
}

// open says which hosts are not ready.
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
