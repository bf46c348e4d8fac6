//go:build tools

// Package nfd pins the programs of the image of Node Feature Discovery. test/lab/artifacts builds
// them from this module.
package nfd

import (
	_ "sigs.k8s.io/node-feature-discovery/cmd/nfd-gc"
	_ "sigs.k8s.io/node-feature-discovery/cmd/nfd-master"
	_ "sigs.k8s.io/node-feature-discovery/cmd/nfd-worker"
)
