//go:build e2e && kubespray

package e2e

import (
	"testing"
	"time"

	"github.com/akraino-icn/bpa/test/site"
)

// TestUpgradeOnKubespray is TestUpgradeCluster with the real kubespray.
func TestUpgradeOnKubespray(t *testing.T) {
	testUpgrade(t, "e2e-kversions", site.Kubespray, "edge-32", 60*time.Minute)
}
