//go:build tools

// Package flannel pins flannel in the version of kubespray v2.31.0. test/lab/artifacts builds it from this module.
//
// The SDK of Tencent Cloud has a newer version than flannel asks for, because the one that it asks for cannot be
// downloaded as a module.
package flannel

import _ "github.com/flannel-io/flannel"
