//go:build tools

// Package ko pins the version of ko, which builds container images from Go packages without Docker.
package ko

import _ "github.com/google/ko"
