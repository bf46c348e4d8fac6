//go:build tools

// Package tools requires the Go types from which hack/plugin-crds.sh generates the CRDs of the plugin
// sriov-network.
package tools

import _ "github.com/k8snetworkplumbingwg/sriov-network-operator/api/v1"
