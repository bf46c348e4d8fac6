package facts

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

func bmc(h *metal3.BareMetalHost)       { h.Spec.BMC.Address = "redfish://10.9.1.1/1" }
func stayOff(h *metal3.BareMetalHost)   { h.Spec.Online = false }
func isOff(h *metal3.BareMetalHost)     { h.Status.PoweredOn = false }
func cannotOff(h *metal3.BareMetalHost) { h.Spec.DisablePowerOff = true }

func TestPower(t *testing.T) {
	type power struct{ Managed, Off, Offline bool }
	quarantine := annotation(contract.AnnotationQuarantine, "fan")
	for _, tc := range []struct {
		name string
		host *metal3.BareMetalHost
		want power
	}{
		{"no BMC", provisioned(), power{}},
		{"no BMC, and off", provisioned(stayOff, isOff), power{Offline: true}},
		{"on", provisioned(bmc), power{Managed: true}},
		{"to be off, still on", provisioned(bmc, stayOff), power{Managed: true, Offline: true}},
		{"off", provisioned(bmc, stayOff, isOff), power{Managed: true, Off: true, Offline: true}},
		{"off by accident: Metal3 powers it on", provisioned(bmc, isOff), power{Managed: true}},
		{"kept off by a fence that is left over", provisioned(bmc, isOff, annotation(AnnotationPowerOff, PowerOffHard)), power{Managed: true, Off: true, Offline: true}},
		{"off, in quarantine", provisioned(bmc, stayOff, isOff, quarantine), power{Managed: true, Off: true}},
		{"never reached", provisioned(bmc, stayOff, isOff, state(metal3.StateRegistering)), power{Managed: true, Offline: true}},
		{"not reached any more", provisioned(bmc, stayOff, isOff, fails(metal3.ProvisionedRegistrationError, "")), power{Managed: true, Offline: true}},
		{"another error", provisioned(bmc, stayOff, isOff, fails(metal3.ServicingError, "")), power{Managed: true, Off: true, Offline: true}},
		{"being deleted", provisioned(bmc, deleting), power{Managed: true}},
		{"power off is disabled", provisioned(bmc, cannotOff, quarantine), power{}},
		{"paused", provisioned(bmc, annotation(metal3.PausedAnnotation, "")), power{}},
		{"to be detached", provisioned(bmc, annotation(metal3.DetachedAnnotation, "")), power{}},
		{"detached", provisioned(bmc, operational(metal3.OperationalStatusDetached)), power{}},
	} {
		h := Of(tc.host, nil)
		if got := (power{h.PowerManaged, h.SwitchedOff, h.Offline}); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

func TestFence(t *testing.T) {
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	by := contract.User{Namespace: "site", Name: "edge-1", UID: "u"}
	reported := func(kind metal3.ErrorType, after time.Duration, count int) change {
		return func(h *metal3.BareMetalHost) {
			fails(kind, "no\nanswer")(h)
			h.Status.LastUpdated, h.Status.ErrorCount = &metav1.Time{Time: at.Add(after)}, count
		}
	}
	for _, tc := range []struct {
		name, value string
		change      change
		want        hosts.Fence
	}{
		{"not fenced", "", image, hosts.Fence{}},
		{"fenced", "2026-11-21T09:00:00Z site/edge-1 u", image, hosts.Fence{At: at, By: by}},
		{"another time zone", "2026-11-21T10:00:00+01:00 site/edge-1 u", image, hosts.Fence{At: at, By: by}},
		{"written by a user", "yes", image, hosts.Fence{}},
		{"an earlier error", "2026-11-21T09:00:00Z site/edge-1 u", reported(metal3.RegistrationError, -time.Second, 7), hosts.Fence{At: at, By: by}},
		{"the BMC does not answer", "2026-11-21T09:00:00Z site/edge-1 u", reported(metal3.RegistrationError, time.Second, 1),
			hosts.Fence{At: at, By: by, Failed: "registration error: no answer"}},
		{"in the same second", "2026-11-21T09:00:00Z site/edge-1 u", reported(metal3.RegistrationError, 0, 7),
			hosts.Fence{At: at, By: by, Failed: "registration error: no answer"}},
		{"the first failure to power off", "2026-11-21T09:00:00Z site/edge-1 u", reported(metal3.PowerManagementError, time.Second, 1), hosts.Fence{At: at, By: by}},
		{"the second failure to power off", "2026-11-21T09:00:00Z site/edge-1 u", reported(metal3.PowerManagementError, time.Second, 2),
			hosts.Fence{At: at, By: by, Failed: "power management error: no answer"}},
		{"an error that has nothing to do with it", "2026-11-21T09:00:00Z site/edge-1 u", reported(metal3.ServicingError, time.Second, 2), hosts.Fence{At: at, By: by}},
	} {
		host := provisioned(annotation(contract.AnnotationFenced, tc.value), tc.change)
		if diff := cmp.Diff(tc.want, Of(host, nil).Fence); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
