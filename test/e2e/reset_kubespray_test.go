//go:build e2e && kubespray

package e2e

import (
	"testing"

	"github.com/akraino-icn/bpa/test/site"
)

// TestResetOfKubespray is TestReset with the real kubespray.
func TestResetOfKubespray(t *testing.T) { testReset(t, "e2e-reset-k", site.Kubespray) }
