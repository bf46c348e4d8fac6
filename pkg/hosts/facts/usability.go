package facts

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// Cluster API's provider for Metal3 sets these annotations on hosts that must not be used. Since
// v1beta2 it uses the first name, and earlier versions use the second.
const (
	AnnotationUnhealthy    = "capm3.metal3.io/unhealthy"
	AnnotationUnhealthyOld = "capi.metal3.io/unhealthy"
)

// maxMessage is the maximum length, in bytes, of a message by Metal3 or a user that is part of
// Trouble or Unusable.
const maxMessage = 200

// setUsability sets Unusable, Trouble, Lost, Wiped, Leaving and Offline, and for a host without an
// operating system also Bare, Image and Retrying.
func setUsability(h *hosts.Host, host *metal3.BareMetalHost) {
	h.Unusable, h.Lost = ailment(host)
	h.Wiped = wiped(host)
	h.Quarantined = annotated(host, contract.AnnotationQuarantine) && host.DeletionTimestamp.IsZero() && !h.Wiped
	h.Trouble = h.Unusable
	h.Leaving = Leaving(host)
	setPower(h, host)
	switch {
	case h.Unusable != "":
		if failing(host) && !h.Lost {
			h.Trouble += errorMessage(host)
		}
	case annotated(host, metal3.PausedAnnotation):
		h.Unusable = "paused" // a user has paused it, or Metal3 is being moved to another cluster; this is no problem for the holder
	case installing(host):
		h.Bare, h.Image = true, ""
		if failing(host) {
			h.Retrying = inErrorState(host) + errorMessage(host)
		}
	case !installed(host):
		h.Unusable = "not provisioned" + inBrackets(string(host.Status.Provisioning.State))
		h.Trouble = h.Unusable
	case leaving(host):
		h.Unusable = "about to be deprovisioned" // the requested image was removed or changed, so Metal3 will wipe the host
		h.Trouble = h.Unusable
	case host.Status.OperationalStatus == metal3.OperationalStatusServicing:
		h.Trouble = "being serviced by Metal3"
	case host.Status.OperationalStatus == metal3.OperationalStatusOK && !host.Status.PoweredOn:
		h.Trouble = "powered off"
	}
}

// ailment describes a problem that a host can have in any provisioning state. The words complete
// "host-1 is ..." and "2 hosts: 1 ...". lost reports whether the host is lost.
func ailment(host *metal3.BareMetalHost) (words string, lost bool) {
	switch {
	case !host.DeletionTimestamp.IsZero():
		return "being deleted", true
	case annotated(host, contract.AnnotationQuarantine):
		return "in quarantine" + inBrackets(Clean(host.Annotations[contract.AnnotationQuarantine], maxMessage/2)), true
	case wiped(host):
		return "wiped: Metal3 has removed its operating system, or is doing so" + inBrackets(string(host.Status.Provisioning.State)), true
	case failing(host) && !retried(host):
		return inErrorState(host), false
	case annotated(host, AnnotationUnhealthy) || annotated(host, AnnotationUnhealthyOld):
		return "marked unhealthy", false
	case annotated(host, metal3.DetachedAnnotation) || host.Status.OperationalStatus == metal3.OperationalStatusDetached:
		return "detached", false
	}
	return "", false
}

// wiped reports whether a host on which its holder has installed a node lost its operating system by
// Metal3, although nobody requests another one for it. A mark of the holder proves that there was a
// node: a host that waits for its image has none.
func wiped(host *metal3.BareMetalHost) bool {
	ref := host.Spec.ConsumerRef
	if ref == nil || ref.UID == "" || usedBy(host).UID != string(ref.UID) || host.Spec.ExternallyProvisioned {
		return false
	}
	switch host.Status.Provisioning.State {
	case metal3.StateDeprovisioning:
		return !installing(host)
	case metal3.StateAvailable, metal3.StateReady, metal3.StatePreparing:
		return !wantsImage(host) && !wantsDeploy(host)
	}
	return false
}

func annotated(host *metal3.BareMetalHost, name string) bool {
	_, has := host.Annotations[name]
	return has
}

func failing(host *metal3.BareMetalHost) bool {
	return host.Status.ErrorMessage != "" || host.Status.ErrorType != "" || host.Status.OperationalStatus == metal3.OperationalStatusError
}

func inErrorState(host *metal3.BareMetalHost) string {
	return "in error state" + inBrackets(string(host.Status.ErrorType))
}

// errorMessage returns Metal3's message as the end of a text; empty: there is none.
func errorMessage(host *metal3.BareMetalHost) string {
	if message := Clean(Message(host), maxMessage); message != "" {
		return ": " + message
	}
	return ""
}

// Message returns Metal3's error of a host, for its holder. A holder in another namespace must not learn how the BMC of
// the host is reached. It sees only errors of the installation of its own image; for others, the result says where
// administrators find the message.
func Message(host *metal3.BareMetalHost) string {
	holder := HolderOf(host)
	if host.Status.ErrorMessage == "" || holder == nil || holder.Namespace == host.Namespace || host.Status.ErrorType == metal3.ProvisioningError {
		return host.Status.ErrorMessage
	}
	return "ask an administrator, who sees the message of Metal3 with `kubectl describe bmh -n " + host.Namespace + " " + host.Name + "`"
}

// retried reports whether Metal3 repeats the installation of the operating system after an error.
// The holder of such a host decides how often it waits (package imaging). If the error excluded the
// host, another attempt of its holder would give it up after the first error.
func retried(host *metal3.BareMetalHost) bool {
	return installing(host) && host.Spec.ConsumerRef != nil && (wantsImage(host) || wantsDeploy(host))
}

// installed reports whether the host has an operating system.
func installed(host *metal3.BareMetalHost) bool {
	state := host.Status.Provisioning.State
	return state == metal3.StateProvisioned || state == metal3.StateExternallyProvisioned
}

// installing reports whether Metal3 installs, or can install, an operating system for the holder of
// the host. It is false for an available host with an image and without a holder: such a host is in
// use by a client that did not set consumerRef.
func installing(host *metal3.BareMetalHost) bool {
	held, image := host.Spec.ConsumerRef != nil, wantsImage(host) || wantsDeploy(host)
	switch host.Status.Provisioning.State {
	case metal3.StateAvailable, metal3.StateReady:
		return !host.Spec.ExternallyProvisioned && (held || !image)
	case metal3.StatePreparing, metal3.StateProvisioning:
		return held && image
	case metal3.StateDeprovisioning: // Metal3 cleans the host after an error, and then repeats the installation
		return held && image && host.Status.Provisioning.Image.URL == "" && host.Status.Provisioning.CustomDeploy == nil
	}
	return false
}

// Leaving reports whether Metal3 still has to remove the operating system of a host, or stop its
// installation, because the host's spec requests none any more. If the host itself is being
// deleted, nobody has to wait for that.
func Leaving(host *metal3.BareMetalHost) bool {
	if !host.DeletionTimestamp.IsZero() || host.Spec.ExternallyProvisioned || wantsImage(host) || wantsDeploy(host) {
		return false
	}
	switch host.Status.Provisioning.State {
	case metal3.StateProvisioning, metal3.StateProvisioned, metal3.StateDeprovisioning:
		return true
	}
	return false
}

// leaving reports whether Metal3 will deprovision the host. Metal3 does so if the installed image
// or deploy method is no longer the requested one.
func leaving(host *metal3.BareMetalHost) bool {
	if host.Status.Provisioning.State != metal3.StateProvisioned {
		return false
	}
	has := host.Status.Provisioning
	changed := has.Image.URL != "" && (host.Spec.Image == nil || host.Spec.Image.URL != has.Image.URL)
	if deployed := has.CustomDeploy; deployed != nil && deployed.Method != "" {
		return changed || !wantsDeploy(host) || host.Spec.CustomDeploy.Method != deployed.Method
	}
	return changed || !wantsDeploy(host) && !wantsImage(host)
}

func wantsImage(host *metal3.BareMetalHost) bool {
	return host.Spec.Image != nil && host.Spec.Image.URL != ""
}

func wantsDeploy(host *metal3.BareMetalHost) bool {
	return host.Spec.CustomDeploy != nil && host.Spec.CustomDeploy.Method != ""
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", s)
}

// Clean converts a string from outside of BPA into one line without control characters. The line
// has at most the given number of bytes.
func Clean(text string, most int) string {
	if len(text) > 4*most {
		text = text[:4*most]
	}
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(text) <= most {
		return text
	}
	cut := most - len("...")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
