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

// maxErrors is the number of consecutive errors of Metal3 after which a host counts as failed. An
// error in provisioning the image counts as a failure immediately.
const maxErrors = 3

// Failed is the error for a host that does not get its operating system.
type Failed struct {
	Host string
	Node string
	Why  string // contains the message of Metal3
}

func (e *Failed) Error() string {
	return fmt.Sprintf("host %s, claimed for %s, %s", e.Host, e.Node, e.Why)
}

// waiting has the last observed state of the hosts for which Await waits.
type waiting struct {
	log    io.Writer
	tick   <-chan time.Time  // when to report
	holder string            // name of the Provisioning
	nodes  map[string]string // node by host
	states map[string]state  // only hosts that are not ready
	failed map[string]error
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

// heldBy reports whether a reference names a Provisioning with this name. Objects of other kinds
// may have the same name.
func heldBy(ref *corev1.ObjectReference, holder string) bool {
	return ref != nil && ref.Kind == hosts.Kind && ref.Name == holder && strings.HasPrefix(ref.APIVersion, hosts.Group+"/")
}

func (w *waiting) gone(host string) {
	w.fail(host, "was deleted or is no longer held by the Provisioning")
}

func (w *waiting) fail(host, why string) {
	if _, awaited := w.nodes[host]; awaited && w.failed[host] == nil {
		w.failed[host] = &Failed{Host: host, Node: w.nodes[host], Why: why}
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

// trouble explains why a host will not get its operating system without a user. It is empty if
// there is no such reason.
func trouble(host *metal3.BareMetalHost) string {
	switch e := host.Status; {
	case !host.DeletionTimestamp.IsZero():
		return "is being deleted"
	case ready(host):
		return ""
	case host.Spec.Image == nil && Ours(host):
		return "no longer has the image that BPA set in its spec.image"
	case e.ErrorMessage != "" && (e.ErrorType == metal3.ProvisioningError || e.ErrorCount >= maxErrors):
		said := strings.Join(strings.Fields(e.ErrorMessage), " ")
		return fmt.Sprintf("does not get its operating system: %s%s: %s", advice(said), e.ErrorType, said)
	}
	return ""
}

// done reports whether all hosts are ready. If a host has failed, done returns its error.
func (w *waiting) done() (bool, error) {
	for _, host := range sorted(w.failed) {
		return false, w.failed[host]
	}
	return len(w.states) == 0, nil
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
