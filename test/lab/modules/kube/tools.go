//go:build tools

// This file pins programs that are built separately from this module. kubectl is not part of the
// multi-call binary, because it would make the binary larger by a third.
package main

import (
	_ "k8s.io/kubernetes/cmd/kubeadm"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
