// Command kube is a multi-call binary with a Kubernetes control plane, the kubelet, kube-proxy, etcd,
// and of etcdutl the command that restores a snapshot. There is a symbolic link for each component.
// One binary links in a quarter of the time that eight would take, and its processes share memory
// pages.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	var cmd *cobra.Command
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		etcdmain.Main(append([]string{"etcd"}, os.Args[1:]...))
		return
	case "etcdutl":
		cmd = &cobra.Command{Use: name, Short: "Restore a snapshot of etcd"}
		cmd.AddCommand(etcdutl.NewSnapshotCommand())
	case "kube-apiserver":
		cmd = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		cmd = manager.NewControllerManagerCommand()
	case "kube-scheduler":
		cmd = scheduler.NewSchedulerCommand()
	case "kube-proxy":
		cmd = proxy.NewProxyCommand()
	case "kubelet":
		cmd = kubelet.NewKubeletCommand(context.Background())
	default:
		fmt.Fprintf(os.Stderr, "kube: unknown program name %q: use etcd, etcdutl, kube-apiserver, kube-controller-manager, kube-scheduler, kube-proxy or kubelet\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(cmd))
}
