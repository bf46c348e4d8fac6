//go:build tools

// Package flannelcni pins flannel's CNI plugin. test/lab/artifacts builds it from this module.
//
// The module of its newer versions, github.com/flannel-io/cni-plugin, cannot be downloaded. v0.9.1 of the CNI plugins
// is the last version that contains it; it reads the same subnet.env and has the same configuration.
package flannelcni

import _ "github.com/containernetworking/plugins/plugins/meta/flannel"
