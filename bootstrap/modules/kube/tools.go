//go:build tools

// This file pins programs that are built separately from this module. As part of the multi-call binary, kubectl would
// make that a third larger.
package main

import (
	_ "k8s.io/kubernetes/cmd/kubeadm"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
