//go:build tools

// Package suite pins the OCI distribution specification's conformance suite. It is a module of its own, so that what the suite needs stays out of
// the product's.
package suite

import _ "github.com/opencontainers/distribution-spec/conformance"
