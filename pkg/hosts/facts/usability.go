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

// Annotations by which Cluster API's provider for Metal3 marks hosts that it must not take, its name since v1beta2 and before.
const (
	AnnotationUnhealthy    = "capm3.metal3.io/unhealthy"
	AnnotationUnhealthyOld = "capi.metal3.io/unhealthy"
)

// maxMessage bounds, in bytes, what Metal3 or a person says in Trouble or Unusable.
const maxMessage = 200

// setUsability says whether a host can be used as it is, what its holder should know, and whether it is lost.
func setUsability(h *hosts.Host, host *metal3.BareMetalHost) {
	h.Unusable, h.Lost = ailment(host)
	h.Trouble = h.Unusable
	switch {
	case h.Unusable != "":
		if message := Clean(host.Status.ErrorMessage, maxMessage); failing(host) && !h.Lost && message != "" {
			h.Trouble += ": " + message
		}
	case annotated(host, metal3.PausedAnnotation):
		h.Unusable = "paused" // by a person or while Metal3 moves house; its holder need not care
	case installing(host):
		h.Bare, h.Image = true, ""
	case !installed(host):
		h.Unusable = "not provisioned" + inBrackets(string(host.Status.Provisioning.State))
		h.Trouble = h.Unusable
	case leaving(host):
		h.Unusable = "about to be deprovisioned" // by Metal3, since its image was taken away; who takes it now loses it
		h.Trouble = h.Unusable
	case host.Status.OperationalStatus == metal3.OperationalStatusServicing:
		h.Trouble = "being serviced by Metal3"
	case host.Status.OperationalStatus == metal3.OperationalStatusOK && !host.Status.PoweredOn:
		h.Trouble = "powered off"
	}
}

// ailment is what is wrong with a host, whatever its state, in words that complete "host-1 is ..." and "2 hosts: 1 ...", and whether that is
// for good.
func ailment(host *metal3.BareMetalHost) (words string, lost bool) {
	switch {
	case !host.DeletionTimestamp.IsZero():
		return "being deleted", true
	case annotated(host, contract.AnnotationQuarantine):
		return "in quarantine" + inBrackets(Clean(host.Annotations[contract.AnnotationQuarantine], maxMessage/2)), true
	case failing(host):
		return "in error state" + inBrackets(string(host.Status.ErrorType)), false
	case annotated(host, AnnotationUnhealthy) || annotated(host, AnnotationUnhealthyOld):
		return "marked unhealthy", false
	case annotated(host, metal3.DetachedAnnotation) || host.Status.OperationalStatus == metal3.OperationalStatusDetached:
		return "detached", false
	}
	return "", false
}

func annotated(host *metal3.BareMetalHost, name string) bool {
	_, has := host.Annotations[name]
	return has
}

func failing(host *metal3.BareMetalHost) bool {
	return host.Status.ErrorMessage != "" || host.Status.ErrorType != "" || host.Status.OperationalStatus == metal3.OperationalStatusError
}

// installed: the host has an operating system.
func installed(host *metal3.BareMetalHost) bool {
	state := host.Status.Provisioning.State
	return state == metal3.StateProvisioned || state == metal3.StateExternallyProvisioned
}

// installing: Metal3 would install, or is installing, an operating system for the host's holder. An available host with an image and no holder
// is somebody's who does not say so.
func installing(host *metal3.BareMetalHost) bool {
	held, image := host.Spec.ConsumerRef != nil, wantsImage(host) || wantsDeploy(host)
	switch host.Status.Provisioning.State {
	case metal3.StateAvailable, metal3.StateReady:
		return !host.Spec.ExternallyProvisioned && (held || !image)
	case metal3.StatePreparing, metal3.StateProvisioning:
		return held && image
	}
	return false
}

// leaving: Metal3 is going to deprovision the host, by the same rule as Metal3 itself: what it installed is no more what is wanted.
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

// Clean makes one line of a foreign text, without control characters, and cuts it to so many bytes.
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
