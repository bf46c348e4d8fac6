//go:build tools

// Package nerdctl pins the version of nerdctl, with which kubespray pulls images.
package nerdctl

import (
	_ "github.com/containerd/nerdctl/v2/cmd/nerdctl"
)
