// Command kubespray is the task kubespray. With a kubespray playbook, it installs the cluster, adds,
// upgrades or removes nodes, restores the cluster from a backup, or removes the cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/podstart"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func main() {
	var in session.Input
	var mounts kubespray.Mounts
	provisioning := flag.String("provisioning", "", "name of the Provisioning")
	namespace := flag.String("namespace", "", "namespace of the Provisioning")
	flag.StringVar(&in.Run, "run", "", "name of the PipelineRun, stored with the progress")
	flag.StringVar(&in.Playbook, "playbook", "cluster.yml", "playbook to run")
	flag.StringVar(&in.Played, "played", contract.None, "digest of an inventory with which the playbook already succeeded, or none")
	flag.StringVar(&mounts.RequestDir, "request-dir", "", "folder with "+contract.KeyRequest)
	flag.StringVar(&mounts.InventoryDir, "inventory-dir", "", "folder with "+contract.KeyNodes+", "+contract.KeyHostsINI+" and "+contract.KeyGroupVars)
	flag.StringVar(&mounts.SSHDir, "ssh-dir", "", "folder with "+node.KeyFile)
	flag.StringVar(&mounts.BackupKeyDir, "backup-key-dir", "", "folder with "+backup.KeyIdentity+"; empty: the run restores no backup")
	flag.StringVar(&mounts.VarsDir, "vars-dir", "", "folder with the values of spec.kubespray.varsFrom; empty: there are none")
	flag.StringVar(&in.PlaybooksDir, "playbooks-dir", "/kubespray", "folder with the playbooks and their ansible.cfg")
	flag.StringVar(&in.ScratchDir, "scratch-dir", os.TempDir(), "writable folder, preferably in memory: the private key is copied there")
	flag.DurationVar(&in.ConnectLimit, "connect-limit", 15*time.Second, "how long the first connection to a node may take")
	flag.DurationVar(&in.BootLimit, "boot-limit", 0, "how long to wait for nodes that do not answer; 0: 10 minutes for nodes with an image of BPA, 1 minute for a reset or a removal, 15 minutes for a patched machine that boots again, otherwise no time")
	flag.DurationVar(&in.HealthLimit, "health-limit", 5*time.Minute, "how long nodes and system pods may take to become Ready after the playbook")
	flag.DurationVar(&in.ProbeLimit, "look-limit", 40*time.Second, "how long one query for the nodes and system pods of the new cluster may take")
	resultsDir := flag.String("results-dir", task.ResultsDir, "folder for results")
	flag.Parse()

	task.Main(*resultsDir, func(ctx context.Context) (map[string]string, error) {
		if err := mounts.Fill(&in, *namespace, *provisioning); err != nil {
			return nil, err
		}
		maps, err := kube.ConfigMaps(*namespace)
		if err != nil {
			return nil, err
		}
		out, err := kubespray.Run(ctx, in, session.Ports{
			Dial:       node.DialSSH,
			Playbook:   process.Play,
			StartPods:  podstart.Check,
			KnownHosts: kube.NewStore(maps, contract.KnownHostsName(*provisioning)),
			Progress:   kube.NewStore(maps, contract.ProgressName(*provisioning)),
			Installed:  kube.NewStore(maps, contract.InstalledName(*provisioning)),
			Software:   kube.NewStore(maps, contract.SoftwareName(*provisioning)),
			Machines:   session.OnMachines{},
			Copy:       download,
			PackageKey: packageKey,
			Log:        os.Stdout,
		})
		if err != nil {
			return nil, err
		}
		return map[string]string{contract.ResultRecap: out.Recap}, nil
	})
}

// download opens a file of the depot. It sends no token: nodes read there without one, too.
func download(ctx context.Context, request contract.Request, path string) (io.ReadCloser, error) {
	if request.DepotURL == "" {
		return nil, errors.New("the cluster has no depot")
	}
	depot, err := connect(ctx, request)
	if err != nil {
		return nil, err
	}
	body, _, err := depot.GetFile(ctx, path)
	return body, err
}

// packageKey returns the public key of the depot that signs its indexes of OS packages.
func packageKey(ctx context.Context, request contract.Request) ([]byte, error) {
	depot, err := connect(ctx, request)
	if err != nil {
		return nil, err
	}
	return depot.PackageKey(ctx)
}

func connect(ctx context.Context, request contract.Request) (*client.Depot, error) {
	return client.Connect(ctx, request.DepotURL, client.Options{CA: []byte(request.DepotCA)})
}
