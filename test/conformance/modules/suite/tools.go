//go:build tools

// Package suite pins the version of the OCI distribution specification's conformance suite. It is a
// separate module, so that the product's go.mod does not contain the suite's dependencies.
package suite

import _ "github.com/opencontainers/distribution-spec/conformance"
