// Command install-plugins is the task install-plugins. It installs the plugins of a cluster and removes
// those that are not requested any more.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/tasks/installplugins"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

type options struct {
	node.Workspaces
	depot, tokenFile string
}

func main() {
	var in installplugins.Input
	var o options
	o.Flags(flag.CommandLine)
	flag.StringVar(&in.Run, "run", "", "name of the PipelineRun, stored with the progress")
	flag.StringVar(&o.depot, "depot", "", "URL for reading from the depot; empty: the URL that nodes read from")
	flag.StringVar(&o.tokenFile, "token-file", "", "file with the token for the depot")
	flag.StringVar(&in.PlaybooksDir, "playbooks-dir", "/kubespray", "folder with kubespray's ansible.cfg")
	flag.StringVar(&in.ScratchDir, "scratch-dir", os.TempDir(), "writable folder, preferably in memory: the private key is copied there")
	flag.DurationVar(&in.ConnectLimit, "connect-limit", 15*time.Second, "how long the connection to a control plane may take")
	flag.DurationVar(&in.SignLimit, "sign-limit", 2*time.Minute, "how long the new cluster may take to sign the certificate")
	flag.DurationVar(&in.ReadyLimit, "ready-limit", 5*time.Minute, "how long the objects of one plugin may take to become ready")
	flag.DurationVar(&in.TestLimit, "test-limit", 3*time.Minute, "how long the test of one plugin may take")
	flag.DurationVar(&in.GoneLimit, "gone-limit", 3*time.Minute, "how long the deletion of objects may take")
	resultsDir := flag.String("results-dir", task.ResultsDir, "folder for results")
	flag.Parse()

	task.Main(*resultsDir, func(ctx context.Context) (map[string]string, error) {
		var err error
		if in.Cluster, err = o.Read(); err != nil {
			return nil, err
		}
		ports, err := o.ports(in)
		if err != nil {
			return nil, err
		}
		out, err := installplugins.Run(ctx, in, ports)
		if err != nil {
			return nil, err
		}
		return map[string]string{contract.ResultPlugins: out.Summary}, nil
	})
}

func (o options) ports(in installplugins.Input) (installplugins.Ports, error) {
	maps, err := kube.ConfigMaps(o.Namespace)
	if err != nil {
		return installplugins.Ports{}, err
	}
	known := kube.NewStore(maps, contract.KnownHostsName(o.Provisioning))
	return installplugins.Ports{
		Enter: func(ctx context.Context, in installplugins.Input, log io.Writer) (installplugins.Cluster, func(), error) {
			return installplugins.Enter(ctx, in, appcluster.Ports{Dial: node.DialSSH, KnownHosts: known, Log: log})
		},
		Depot:      func(ctx context.Context) (*client.Depot, error) { return o.openDepot(ctx, in.Request) },
		Catalog:    plugin.Shipped(),
		Playbook:   process.Play,
		KnownHosts: known,
		Progress:   kube.NewStore(maps, contract.ProgressName(o.Provisioning)),
		Record:     kube.NewStore(maps, contract.PluginsName(o.Provisioning)),
		Log:        os.Stdout, Now: time.Now,
	}, nil
}

// openDepot connects to the depot. The token is valid at the site's depot. It is not sent to another depot
// that a Provisioning names, because the author of the Provisioning could read it there.
func (o options) openDepot(ctx context.Context, request contract.Request) (*client.Depot, error) {
	url, token := cmp.Or(o.depot, request.DepotURL), o.tokenFile
	if url == "" {
		return nil, errors.New("the Provisioning uses no depot, and only a depot has a site's own plugins")
	}
	if !request.DepotOfSite && o.depot == "" {
		fmt.Println("The depot is not the one in the site's settings (ConfigMap config-bpa), so no token is sent to it.")
		token = ""
	}
	if _, err := os.Stat(token); err != nil { // a site whose depot needs no token
		token = ""
	}
	return client.Connect(ctx, url, client.Options{TokenFile: token, CA: []byte(request.DepotCA)})
}
