//go:build tools

// Package ko pins the tool that turns Go packages into container images without Docker.
package ko

import _ "github.com/google/ko"
