//go:build e2e && kubespray

package e2e

import (
	"testing"
	"time"

	"github.com/akraino-icn/bpa/test/site"
)

// TestChangeOnKubespray is TestChange with the real kubespray.
func TestChangeOnKubespray(t *testing.T) {
	testChange(t, "e2e-kchange", site.Kubespray, "edge-21", 30*time.Minute)
}
