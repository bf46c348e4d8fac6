//go:build tools

// Package crictl pins the program that kubespray downloads to look at a container runtime.
package crictl

import (
	_ "sigs.k8s.io/cri-tools/cmd/crictl"
)
