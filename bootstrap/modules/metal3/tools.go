//go:build tools

// Package metal3 pins Metal3's API types and controller-gen, which generates their CRDs. The module
// with the types does not contain the CRDs.
package metal3

import (
	_ "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	_ "sigs.k8s.io/controller-tools/cmd/controller-gen"
)
