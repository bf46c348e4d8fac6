//go:build tools

// Package oras pins the version of the client with which the depot is tested. It is a separate
// module, so that the product's go.mod does not contain the client's dependencies.
package oras

import _ "oras.land/oras/cmd/oras"
