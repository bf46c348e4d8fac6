// Command kubespray is the task that installs the cluster by a kubespray playbook.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/configmap"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/outcome"
)

func main() {
	if err := command().Execute(); err != nil {
		os.Exit(2) // wrong flags; a task that fails exits in outcome.Main
	}
}

type flags struct {
	kubespray.Mounts
	provisioning, namespace, resultsDir string
	in                                  kubespray.Input
}

func command() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:          "kubespray",
		Short:        "Install the cluster: run a kubespray playbook on the claimed hosts and see that the nodes are Ready",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		Run: func(*cobra.Command, []string) {
			outcome.Main(f.resultsDir, f.run)
		},
	}
	s := c.Flags()
	s.StringVar(&f.provisioning, "provisioning", "", "name of the Provisioning")
	s.StringVar(&f.namespace, "namespace", "", "its namespace")
	s.StringVar(&f.in.Run, "run", "", "name of the PipelineRun, told with the progress")
	s.StringVar(&f.in.Playbook, "playbook", "cluster.yml", "playbook to run")
	s.StringVar(&f.RequestDir, "request-dir", "", "folder with "+contract.KeyRequest)
	s.StringVar(&f.InventoryDir, "inventory-dir", "", "folder with "+contract.KeyNodes+", "+contract.KeyHostsINI+" and "+contract.KeyGroupVars)
	s.StringVar(&f.SSHDir, "ssh-dir", "", "folder with ssh-privatekey")
	s.StringVar(&f.in.PlaybooksDir, "playbooks-dir", "/kubespray", "folder with the playbooks and their ansible.cfg")
	s.StringVar(&f.in.ScratchDir, "scratch-dir", os.TempDir(), "folder to write to, best in memory: the private key is copied there")
	s.StringVar(&f.resultsDir, "results-dir", outcome.ResultsDir, "folder for the results")
	s.DurationVar(&f.in.ConnectLimit, "connect-limit", 15*time.Second, "how long the first connection to a node may take")
	s.DurationVar(&f.in.HealthLimit, "health-limit", 5*time.Minute, "how long nodes and system pods may take to get Ready after the playbook")
	for _, required := range []string{"provisioning", "namespace", "request-dir", "inventory-dir", "ssh-dir"} {
		if err := c.MarkFlagRequired(required); err != nil {
			panic(err) // a flag's name above is wrong
		}
	}
	return c
}

func (f flags) run(ctx context.Context) (map[string]string, error) {
	in, err := f.Read(f.in)
	if err != nil {
		return nil, outcome.Because(contract.ReasonInvalidRequest, err)
	}
	maps, err := configmap.Client(f.namespace)
	if err != nil {
		return nil, err
	}
	out, err := kubespray.Run(ctx, in, kubespray.Ports{
		Dial: dial,
		Playbook: func(ctx context.Context, c kubespray.Command, stdout, stderr io.Writer) (int, error) {
			defer kubespray.CloseMasters(in.ScratchDir)
			return kubespray.Exec(ctx, kubespray.KillAfter, c, stdout, stderr)
		},
		KnownHosts: configmap.New(maps, contract.KnownHostsName(f.provisioning)),
		Progress:   configmap.New(maps, contract.ProgressName(f.provisioning)),
		Log:        os.Stdout,
	})
	if err != nil {
		return nil, err
	}
	return map[string]string{contract.ResultRecap: out.Recap}, nil
}

func dial(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (kubespray.Connection, error) {
	client, err := ssh.Dial(ctx, to, key, pinned)
	if err != nil {
		return nil, err
	}
	return client, nil
}
