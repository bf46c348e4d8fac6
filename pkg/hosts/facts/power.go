package facts

import (
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// AnnotationPowerOff makes Metal3 power a host off at once and keep it off until the annotation is
// removed. Without it, Metal3 first asks the operating system to shut down, which a node that hangs
// does not do: Metal3 then needs about five minutes. PowerOffHard is the value.
const (
	AnnotationPowerOff = metal3.RebootAnnotationPrefix + "/bpa-fence"
	PowerOffHard       = `{"mode":"hard"}`
)

// setPower sets Offline, PowerManaged, SwitchedOff and Fence. It needs Lost.
func setPower(h *hosts.Host, host *metal3.BareMetalHost) {
	acts := !annotated(host, metal3.PausedAnnotation) && !annotated(host, metal3.DetachedAnnotation)
	off := !host.Spec.Online || annotated(host, AnnotationPowerOff)
	h.Offline = !h.Lost && off && acts
	h.PowerManaged = acts && host.Spec.BMC.Address != "" && !host.Spec.DisablePowerOff && host.Status.OperationalStatus != metal3.OperationalStatusDetached
	h.SwitchedOff = h.PowerManaged && off && !host.Status.PoweredOn && powerKnown(host)
	h.Fence = fence(host)
}

// powerKnown reports whether Metal3 has read the power state of the machine. Before it has reached the
// BMC, and after it has lost the BMC, poweredOn is false or out of date.
func powerKnown(host *metal3.BareMetalHost) bool {
	switch host.Status.Provisioning.State {
	case metal3.StateNone, metal3.StateUnmanaged, metal3.StateRegistering:
		return false
	}
	return !failing(host) || !unregistered(host)
}

func unregistered(host *metal3.BareMetalHost) bool {
	return host.Status.ErrorType == metal3.RegistrationError || host.Status.ErrorType == metal3.ProvisionedRegistrationError
}

// fence reads the annotation contract.AnnotationFenced. A user can write it too: a value without a
// valid time counts as none.
func fence(host *metal3.BareMetalHost) hosts.Fence {
	text, user, _ := strings.Cut(host.Annotations[contract.AnnotationFenced], " ")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return hosts.Fence{}
	}
	return hosts.Fence{At: at.UTC(), By: contract.ParseUser(user), Failed: fenceError(host, at)}
}

// fenceError returns the error that keeps Metal3 from powering the host off. It ignores errors that
// Metal3 reported before the second of the request, and the first failure to power off: Metal3 repeats
// that one and then ignores what the BMC reported earlier.
func fenceError(host *metal3.BareMetalHost, since time.Time) string {
	if !failing(host) || host.Status.LastUpdated == nil || host.Status.LastUpdated.Time.Before(since) {
		return ""
	}
	if cannot := host.Status.ErrorType == metal3.PowerManagementError && host.Status.ErrorCount > 1; !cannot && !unregistered(host) {
		return ""
	}
	return string(host.Status.ErrorType) + errorMessage(host)
}
