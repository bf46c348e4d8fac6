// Command install-software is the task install-software. It installs, updates and removes packages on the
// nodes of a cluster.
package main

import (
	"context"
	"flag"
	"io"
	"os"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/installsoftware"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/software"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func main() {
	var in installsoftware.Input
	var workspaces node.Workspaces
	workspaces.Flags(flag.CommandLine)
	flag.StringVar(&in.Run, "run", "", "name of the PipelineRun, stored with the progress")
	flag.StringVar(&in.PlaybooksDir, "playbooks-dir", "/kubespray", "folder with kubespray's ansible.cfg")
	flag.StringVar(&in.ScratchDir, "scratch-dir", os.TempDir(), "writable folder, preferably in memory: the private key is copied there")
	flag.DurationVar(&in.ConnectLimit, "connect-limit", 15*time.Second, "how long the connection to a control plane may take")
	flag.DurationVar(&in.SignLimit, "sign-limit", 2*time.Minute, "how long the new cluster may take to sign the certificate")
	flag.DurationVar(&in.CallLimit, "call-limit", 30*time.Second, "how long one call of the new cluster may take")
	flag.DurationVar(&in.ReadyLimit, "ready-limit", 10*time.Minute, "how long a node may take to become Ready again")
	flag.DurationVar(&in.Limits.Look, "look-limit", software.DefaultLimits.Look, "how long all nodes together may take to say which packages they have")
	flag.DurationVar(&in.Limits.Lock, "lock-limit", software.DefaultLimits.Lock, "how long a node waits for the lock of its package manager")
	flag.DurationVar(&in.Limits.Script, "script-limit", software.DefaultLimits.Script, "how long install.sh of one package may take")
	flag.DurationVar(&in.Limits.Apply, "apply-limit", software.DefaultLimits.Apply, "how long all changes of one node may take")
	flag.DurationVar(&in.Limits.Boot, "boot-limit", software.DefaultLimits.Boot, "how long a node may take to boot")
	resultsDir := flag.String("results-dir", task.ResultsDir, "folder for results")
	flag.Parse()

	task.Main(*resultsDir, func(ctx context.Context) (map[string]string, error) {
		var err error
		if in.Cluster, err = workspaces.Read(); err != nil {
			return nil, err
		}
		ports, err := ports(workspaces)
		if err != nil {
			return nil, err
		}
		out, err := installsoftware.Run(ctx, in, ports)
		if err != nil {
			return nil, err
		}
		return map[string]string{contract.ResultSoftware: out.Summary}, nil
	})
}

func ports(w node.Workspaces) (installsoftware.Ports, error) {
	maps, err := kube.ConfigMaps(w.Namespace)
	if err != nil {
		return installsoftware.Ports{}, err
	}
	known := kube.NewStore(maps, contract.KnownHostsName(w.Provisioning))
	return installsoftware.Ports{
		Enter: func(ctx context.Context, in installsoftware.Input, log io.Writer) (installsoftware.Cluster, func(), error) {
			return installsoftware.Enter(ctx, in, appcluster.Ports{Dial: node.DialSSH, KnownHosts: known, Log: log})
		},
		Spares: func(ctx context.Context, in installsoftware.Input, planes []contract.Node, n contract.Node) error {
			return installsoftware.Spares(ctx, in, node.DialSSH, known, planes, n)
		},
		StartPods: func(ctx context.Context, in installsoftware.Input, nodes []string, log io.Writer) (map[string]string, error) {
			return installsoftware.StartPods(ctx, in, node.DialSSH, known, nodes, log)
		},
		Playbook:   process.Play,
		KnownHosts: known,
		Progress:   kube.NewStore(maps, contract.ProgressName(w.Provisioning)),
		Record:     kube.NewStore(maps, contract.SoftwareName(w.Provisioning)),
		Log:        os.Stdout, Now: time.Now,
	}, nil
}
