//go:build tools

// Package metal3 pins Metal3's API types and the generator that makes their CRDs: the apis module holds no CRDs itself.
package metal3

import (
	_ "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	_ "sigs.k8s.io/controller-tools/cmd/controller-gen"
)
