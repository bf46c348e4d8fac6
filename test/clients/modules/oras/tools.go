//go:build tools

// Package oras pins the client that the depot is tried with. It is a module of its own, so that what the client needs stays out of the product's.
package oras

import _ "oras.land/oras/cmd/oras"
