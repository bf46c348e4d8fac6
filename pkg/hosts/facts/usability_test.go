package facts

import (
	"strings"
	"testing"
	"unicode/utf8"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

type change = func(*metal3.BareMetalHost)

func state(s metal3.ProvisioningState) change {
	return func(h *metal3.BareMetalHost) {
		h.Status.Provisioning.State, h.Status.Provisioning.Image = s, metal3.Image{}
		h.Spec.Image = nil
	}
}

func annotation(name, value string) change {
	return func(h *metal3.BareMetalHost) { h.Annotations = map[string]string{name: value} }
}

func deleting(h *metal3.BareMetalHost) { now := metav1.Now(); h.DeletionTimestamp = &now }
func taken(h *metal3.BareMetalHost)    { h.Spec.ConsumerRef = &corev1.ObjectReference{Name: "edge-1"} }
func image(h *metal3.BareMetalHost)    { h.Spec.Image = &metal3.Image{URL: "http://site/os.qcow2"} }

func custom(wanted, done string) change {
	return func(h *metal3.BareMetalHost) {
		h.Spec.Image, h.Status.Provisioning.Image = nil, metal3.Image{}
		if wanted != "" {
			h.Spec.CustomDeploy = &metal3.CustomDeploy{Method: wanted}
		}
		if done != "" {
			h.Status.Provisioning.CustomDeploy = &metal3.CustomDeploy{Method: done}
		}
	}
}

func fails(kind metal3.ErrorType, message string) change {
	return func(h *metal3.BareMetalHost) {
		h.Status.OperationalStatus, h.Status.ErrorType, h.Status.ErrorMessage = metal3.OperationalStatusError, kind, message
	}
}

func operational(s metal3.OperationalStatus) change {
	return func(h *metal3.BareMetalHost) { h.Status.OperationalStatus = s }
}

func TestUnusable(t *testing.T) {
	for _, tc := range []struct {
		name string
		host *metal3.BareMetalHost
		want string
	}{
		{"provisioned", provisioned(), ""},
		{"externally provisioned", provisioned(state(metal3.StateExternallyProvisioned)), ""},
		{"no operational status", provisioned(operational("")), ""},
		{"being provisioned", provisioned(state(metal3.StateProvisioning), image), "not provisioned (provisioning)"},
		{"inspecting", provisioned(state(metal3.StateInspecting)), "not provisioned (inspecting)"},
		{"deprovisioning", provisioned(state(metal3.StateDeprovisioning), taken), "not provisioned (deprovisioning)"},
		{"new", provisioned(func(h *metal3.BareMetalHost) { h.Status = metal3.BareMetalHostStatus{} }), "not provisioned"},
		{"deleting", provisioned(deleting), "being deleted"},
		{"quarantine", provisioned(annotation(contract.AnnotationQuarantine, "fan\nbroken")), "in quarantine (fan broken)"},
		{"quarantine, no reason", provisioned(annotation(contract.AnnotationQuarantine, "")), "in quarantine"},
		{"unhealthy", provisioned(annotation(AnnotationUnhealthy, "")), "marked unhealthy"},
		{"unhealthy, old name", provisioned(annotation(AnnotationUnhealthyOld, "")), "marked unhealthy"},
		{"error message", provisioned(func(h *metal3.BareMetalHost) { h.Status.ErrorMessage = "no power" }), "in error state"},
		{"error status", provisioned(fails(metal3.PowerManagementError, "")), "in error state (power management error)"},
		{"paused", provisioned(annotation(metal3.PausedAnnotation, "")), "paused"},
		{"detached", provisioned(annotation(metal3.DetachedAnnotation, "true")), "detached"},
		{"detached status", provisioned(operational(metal3.OperationalStatusDetached)), "detached"},
		{"the image was taken away", provisioned(func(h *metal3.BareMetalHost) { h.Spec.Image = nil }), "about to be deprovisioned"},
		{"another image", provisioned(func(h *metal3.BareMetalHost) { h.Spec.Image.URL = "http://site/new" }), "about to be deprovisioned"},
		{"an image without URL", provisioned(func(h *metal3.BareMetalHost) { h.Spec.Image.URL = "" }), "about to be deprovisioned"},
		{"custom deploy", provisioned(custom("install_coreos", "install_coreos")), ""},
		{"other custom deploy", provisioned(custom("other", "install_coreos")), "about to be deprovisioned"},
		{"custom deploy taken away", provisioned(custom("", "install_coreos")), "about to be deprovisioned"},
		{"available with somebody's image", provisioned(state(metal3.StateAvailable), image), "not provisioned (available)"},
		{"soon externally provisioned", provisioned(state(metal3.StateAvailable), func(h *metal3.BareMetalHost) { h.Spec.ExternallyProvisioned = true }),
			"not provisioned (available)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Of(tc.host, nil)
			if got.Unusable != tc.want || got.Bare {
				t.Errorf("Unusable = %q, Bare = %t; want %q", got.Unusable, got.Bare, tc.want)
			}
		})
	}
}

// TestBare checks hosts on which Metal3 installs, or can install, an operating system for their
// holder.
func TestBare(t *testing.T) {
	for name, host := range map[string]*metal3.BareMetalHost{
		"available":                     provisioned(state(metal3.StateAvailable)),
		"ready, as it was called":       provisioned(state(metal3.StateReady)),
		"held, not begun":               provisioned(state(metal3.StateAvailable), taken, image),
		"held, being prepared":          provisioned(state(metal3.StatePreparing), taken, image),
		"held, being provisioned":       provisioned(state(metal3.StateProvisioning), taken, image),
		"held, cleaned after an error":  provisioned(state(metal3.StateDeprovisioning), taken, image),
		"held, image not yet asked for": provisioned(state(metal3.StateAvailable), taken),
	} {
		if got := Of(host, nil); !got.Bare || got.Unusable != "" || got.Trouble != "" {
			t.Errorf("%s: Bare = %t, Unusable = %q, Trouble = %q", name, got.Bare, got.Unusable, got.Trouble)
		}
	}
	failing := provisioned(state(metal3.StateProvisioning), taken, image, fails(metal3.ProvisioningError, "no disk"))
	if got := Of(failing, nil); !got.Bare || got.Unusable != "" || got.Retrying != "in error state (provisioning error): no disk" {
		t.Errorf("after an error that Metal3 retries: Bare = %t, Unusable = %q, Retrying = %q", got.Bare, got.Unusable, got.Retrying)
	}
	for name, change := range map[string]change{"in error": fails(metal3.ProvisioningError, "no disk"), "paused": annotation(metal3.PausedAnnotation, "")} {
		if got := Of(provisioned(state(metal3.StateAvailable), change), nil); got.Bare || got.Unusable == "" {
			t.Errorf("%s: Bare = %t, Unusable = %q", name, got.Bare, got.Unusable)
		}
	}
}

// TestLeaving checks hosts from which Metal3 removes the operating system.
func TestLeaving(t *testing.T) {
	external := func(h *metal3.BareMetalHost) { h.Spec.ExternallyProvisioned = true }
	for _, tc := range []struct {
		name string
		host *metal3.BareMetalHost
		want bool
	}{
		{"provisioned", provisioned(), false},
		{"the image was removed", provisioned(func(h *metal3.BareMetalHost) { h.Spec.Image = nil }), true},
		{"the installation is being stopped", provisioned(state(metal3.StateProvisioning)), true},
		{"deprovisioning", provisioned(state(metal3.StateDeprovisioning)), true},
		{"deprovisioning fails", provisioned(state(metal3.StateDeprovisioning), fails(metal3.ProvisioningError, "no agent")), true},
		{"deprovisioned", provisioned(state(metal3.StateAvailable)), false},
		{"cleaned after an error", provisioned(state(metal3.StateDeprovisioning), image), false},
		{"externally provisioned", provisioned(state(metal3.StateExternallyProvisioned), external), false},
		{"being deleted", provisioned(state(metal3.StateDeprovisioning), deleting), false},
	} {
		if got := Of(tc.host, nil).Leaving; got != tc.want {
			t.Errorf("%s: Leaving = %t", tc.name, got)
		}
	}
}

func TestOffline(t *testing.T) {
	off := func(h *metal3.BareMetalHost) { h.Spec.Online = false }
	for name, host := range map[string]*metal3.BareMetalHost{
		"online": provisioned(), "paused": provisioned(off, annotation(metal3.PausedAnnotation, "")), "detached": provisioned(off, annotation(metal3.DetachedAnnotation, "")),
	} {
		if Of(host, nil).Offline {
			t.Errorf("%s: Offline is true", name)
		}
	}
	if !Of(provisioned(off), nil).Offline {
		t.Error("spec.online is false, and Offline is false")
	}
}

// TestTroubleAndLost checks the problems that are reported to the holder of a host.
func TestTroubleAndLost(t *testing.T) {
	for _, tc := range []struct {
		name string
		host *metal3.BareMetalHost
		want string
		lost bool
	}{
		{"well", provisioned(), "", false},
		{"paused", provisioned(annotation(metal3.PausedAnnotation, "")), "", false},
		{"error", provisioned(fails(metal3.PowerManagementError, "BMC\tdoes\x1b[31m not\n answer")),
			"in error state (power management error): BMC does [31m not answer", false},
		{"error of many words", provisioned(fails("", strings.Repeat("ä", 300))), "in error state: " + strings.Repeat("ä", 98) + "...", false},
		{"detached", provisioned(annotation(metal3.DetachedAnnotation, "")), "detached", false},
		{"powered off", provisioned(func(h *metal3.BareMetalHost) { h.Status.PoweredOn = false }), "powered off", false},
		{"power not known", provisioned(operational(""), func(h *metal3.BareMetalHost) { h.Status.PoweredOn = false }), "", false},
		{"servicing", provisioned(operational(metal3.OperationalStatusServicing)), "being serviced by Metal3", false},
		{"unhealthy", provisioned(annotation(AnnotationUnhealthy, "")), "marked unhealthy", false},
		{"wiped", provisioned(state(metal3.StateDeprovisioning), taken), "not provisioned (deprovisioning)", false},
		{"soon wiped", provisioned(func(h *metal3.BareMetalHost) { h.Spec.Image = nil }), "about to be deprovisioned", false},
		{"deleting", provisioned(deleting, fails(metal3.DetachError, "x")), "being deleted", true},
		{"quarantine", provisioned(annotation(contract.AnnotationQuarantine, "smoke"), fails("", "fire")), "in quarantine (smoke)", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Of(tc.host, nil); got.Trouble != tc.want || got.Lost != tc.lost {
				t.Errorf("Trouble = %q, Lost = %t; want %q, %t", got.Trouble, got.Lost, tc.want, tc.lost)
			}
		})
	}
}

// TestQuarantined: a host that Metal3 wipes or deletes is not lost only because of its quarantine.
func TestQuarantined(t *testing.T) {
	quarantine := annotation(contract.AnnotationQuarantine, "smoke")
	for name, tc := range map[string]struct {
		host *metal3.BareMetalHost
		want bool
	}{
		"in quarantine":    {provisioned(quarantine), true},
		"none":             {provisioned(), false},
		"and deleted":      {provisioned(quarantine, deleting), false},
		"marked unhealthy": {provisioned(annotation(AnnotationUnhealthy, "")), false},
	} {
		if got := Of(tc.host, nil); got.Quarantined != tc.want {
			t.Errorf("%s: Quarantined = %t", name, got.Quarantined)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "a  b\n", "\x1b[2J", "\xff\xfe", strings.Repeat("ü", 200), "\u202etxt", strings.Repeat(" ", 900) + "x"} {
		f.Add(seed, 40)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		if most < 8 || most > 1000 {
			return
		}
		got := Clean(text, most)
		if len(got) > most || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) {
			t.Errorf("Clean(%q, %d) = %q", text, most, got)
		}
		if Clean(got, most) != got {
			t.Errorf("Clean changes its own result: %q to %q", got, Clean(got, most))
		}
	})
}

// TestWiped: a host is lost if Metal3 removes the operating system under an installed node. A host that
// waits for its image, or that other users wipe, is not.
func TestWiped(t *testing.T) {
	held := func(h *metal3.BareMetalHost) {
		h.Spec.ConsumerRef = &corev1.ObjectReference{Name: "edge-1", UID: "uid-1"}
	}
	marked := annotation(contract.AnnotationUsedBy, "site/edge-1 uid-1")
	external := func(h *metal3.BareMetalHost) { h.Spec.ExternallyProvisioned = true }
	old := func(h *metal3.BareMetalHost) { h.Status.Provisioning.Image.URL = "http://site/old" }
	for _, tc := range []struct {
		name string
		host *metal3.BareMetalHost
		want string
	}{
		{"provisioned", provisioned(held, marked), ""},
		{"about to be deprovisioned", provisioned(held, marked, func(h *metal3.BareMetalHost) { h.Spec.Image = nil }), ""},
		{"being deprovisioned", provisioned(state(metal3.StateDeprovisioning), held, marked), "deprovisioning"},
		{"deprovisioning fails", provisioned(state(metal3.StateDeprovisioning), held, marked, fails(metal3.ProvisioningError, "no agent")), "deprovisioning"},
		{"for another image", provisioned(state(metal3.StateDeprovisioning), held, marked, image, old), "deprovisioning"},
		{"deprovisioned", provisioned(state(metal3.StateAvailable), held, marked), "available"},
		{"prepared", provisioned(state(metal3.StatePreparing), held, marked), "preparing"},
		{"receives another image", provisioned(state(metal3.StateAvailable), held, marked, image), ""},
		{"waits for its image", provisioned(state(metal3.StateAvailable), held), ""},
		{"not held", provisioned(state(metal3.StateAvailable), marked), ""},
		{"the mark of another cluster", provisioned(state(metal3.StateAvailable), held, annotation(contract.AnnotationUsedBy, "site/edge-2 uid-2")), ""},
		{"a mark without UID", provisioned(state(metal3.StateAvailable), held, annotation(contract.AnnotationUsedBy, "edge-1")), ""},
		{"Metal3 has forgotten its state", provisioned(state(metal3.StateNone), held, marked), ""},
		{"registered again", provisioned(state(metal3.StateRegistering), held, marked), ""},
		{"inspected again", provisioned(state(metal3.StateInspecting), held, marked), ""},
		{"not installed by Metal3", provisioned(state(metal3.StateAvailable), held, marked, external), ""},
	} {
		got := Of(tc.host, nil)
		if want := "wiped: Metal3 has removed its operating system, or is doing so (" + tc.want + ")"; got.Wiped != (tc.want != "") ||
			tc.want != "" && (got.Unusable != want || got.Trouble != want || !got.Lost || got.Bare) || tc.want == "" && got.Lost {
			t.Errorf("%s: Wiped = %t, Lost = %t, Bare = %t, Unusable = %q, Trouble = %q", tc.name, got.Wiped, got.Lost, got.Bare, got.Unusable, got.Trouble)
		}
	}
}
