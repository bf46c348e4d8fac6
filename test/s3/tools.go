//go:build tools

// Package s3 pins the S3 server that the depot is tried against. It is a module
// of its own, so that the server's dependencies stay out of the product's.
package s3

import _ "github.com/versity/versitygw/cmd/versitygw"
