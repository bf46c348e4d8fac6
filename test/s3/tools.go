//go:build tools

// Package s3 pins the version of the S3 server with which the depot is tested. It is a separate
// module, so that the product's go.mod does not contain the server's dependencies.
package s3

import _ "github.com/versity/versitygw/cmd/versitygw"
