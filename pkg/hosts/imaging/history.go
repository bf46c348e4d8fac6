package imaging

import (
	"fmt"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

const (
	// maxErrors is the number of consecutive errors, as Metal3 counts them, after which a host counts
	// as failed. Metal3 waits 1 to 2 minutes after the first error and twice as long after each
	// further one. So a BMC may be away for some minutes.
	maxErrors = 3
	// maxInstallations is the number of failed installations after which a host counts as failed.
	// Metal3 repeats the installation each time. It resets its own count of errors when it cleans the
	// host in between, so these failures are counted here.
	maxInstallations = 3
	// maxImageErrors is like maxInstallations, for errors that the image causes. The second error
	// shows that the transfer was not merely damaged.
	maxImageErrors = 2
	// maxUnproven is the number of hosts that may be given up before any host has received the
	// image. If another host fails then, the image or the site is the likely cause, and further hosts
	// would fail too.
	maxUnproven = 1
)

// history has the results of installations in one run.
type history struct {
	failures map[string]int  // failed installations by host
	failing  map[string]bool // hosts whose last failure Metal3 still reports
	received bool            // a host has received the image
	givenUp  int             // hosts whose installation failed too often
}

func newHistory() *history {
	return &history{failures: map[string]int{}, failing: map[string]bool{}}
}

// see counts a failed installation when Metal3 begins to report it. It returns the number of the
// failure, or 0 if there is no new one.
func (h *history) see(host *metal3.BareMetalHost) int {
	name := host.Name
	failing := host.Status.ErrorType == metal3.ProvisioningError && host.Status.ErrorMessage != ""
	isNew := failing && !h.failing[name]
	h.failing[name] = failing
	if !isNew {
		return 0
	}
	h.failures[name]++
	return h.failures[name]
}

// judge decides whether a host has failed too often. It returns nil as long as Metal3 may still
// succeed. hopeful reports that another host is still being installed and has not failed yet.
func (h *history) judge(host *metal3.BareMetalHost, hopeful bool) *Failed {
	status := host.Status
	said := strings.Join(strings.Fields(facts.Message(host)), " ")
	if said == "" {
		return nil
	}
	installing, failures := status.ErrorType == metal3.ProvisioningError, h.failures[host.Name]
	why := fmt.Sprintf("does not get its operating system: %s%s: %s", advice(said), status.ErrorType, said)
	switch {
	case installing && advice(said) != "" && !h.received && failures >= maxImageErrors:
		return &Failed{Kind: BadImage, Why: why}
	case installing && failures >= maxInstallations && !h.received && !hopeful && h.givenUp >= maxUnproven:
		return &Failed{Kind: BadImage, Why: "does not get its operating system. Another host failed before, and no host has received this image, " +
			"so no further host is tried. Check the image and the site's network: " + said}
	case installing && failures >= maxInstallations, status.ErrorCount >= maxErrors:
		return &Failed{Kind: BadHost, Why: why}
	}
	return nil
}

// giveUp records that a host failed permanently.
func (h *history) giveUp(name string) {
	if h.failures[name] >= maxInstallations {
		h.givenUp++
	}
	delete(h.failures, name)
	delete(h.failing, name)
}
