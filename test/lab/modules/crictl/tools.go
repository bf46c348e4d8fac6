//go:build tools

// Package crictl pins the version of crictl, with which kubespray inspects a container runtime.
package crictl

import (
	_ "sigs.k8s.io/cri-tools/cmd/crictl"
)
