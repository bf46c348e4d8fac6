//go:build tools

// Binaries of their own that are built from this module: linked into the multi-call binary, kubectl would make it a third larger.
package main

import (
	_ "k8s.io/kubernetes/cmd/kubeadm"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
