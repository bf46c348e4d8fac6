// Command enroll is the task enroll. It installs the SSH key of a cluster on its hosts.
package main

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/enroll"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func main() {
	var in session.Input
	var mounts enroll.Mounts
	provisioning := flag.String("provisioning", "", "name of the Provisioning")
	namespace := flag.String("namespace", "", "namespace of the Provisioning")
	flag.StringVar(&mounts.RequestDir, "request-dir", "", "folder with "+contract.KeyRequest)
	flag.StringVar(&mounts.InventoryDir, "inventory-dir", "", "folder with "+contract.KeyNodes)
	flag.StringVar(&mounts.SSHDir, "ssh-dir", "", "folder with "+node.KeyFile+", the SSH key of the cluster")
	flag.StringVar(&mounts.SiteSSHDir, "site-ssh-dir", "", "folder with "+node.KeyFile+", the SSH key of the site")
	flag.DurationVar(&in.ConnectLimit, "connect-limit", 15*time.Second, "how long the first connection to a node may take")
	flag.DurationVar(&in.BootLimit, "boot-limit", 0, "how long to wait for new nodes that do not answer; 0: 10 minutes for nodes with an image of BPA, otherwise no time")
	resultsDir := flag.String("results-dir", task.ResultsDir, "folder for results")
	flag.Parse()

	task.Main(*resultsDir, func(ctx context.Context) (map[string]string, error) {
		siteKey, err := mounts.Fill(&in, *namespace, *provisioning)
		if err != nil {
			return nil, err
		}
		maps, err := kube.ConfigMaps(*namespace)
		if err != nil {
			return nil, err
		}
		ports := enroll.Ports{Ports: session.Ports{
			Dial:       node.DialSSH,
			KnownHosts: kube.NewStore(maps, contract.KnownHostsName(*provisioning)),
			Installed:  kube.NewStore(maps, contract.InstalledName(*provisioning)),
			Machines:   session.OnMachines{},
			Log:        os.Stdout,
		}}
		if in.Request.Outcome != "" {
			ports.Outcome = kube.NewStore(maps, in.Request.Outcome)
		}
		return nil, enroll.Run(ctx, in, siteKey, ports)
	})
}
