// Command backup is the task backup. It copies etcd and the keys of a cluster into the depot, encrypted.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/tasks/backup"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

type folders struct{ request, ssh string }

func main() {
	var in backup.Input
	var dirs folders
	provisioning := flag.String("provisioning", "", "name of the Provisioning")
	namespace := flag.String("namespace", "", "namespace of the Provisioning")
	flag.StringVar(&in.Artifact, "artifact", "", "name of the backup in the depot")
	flag.StringVar(&in.Recipient, "recipient", "", "public key of age for which the backup is encrypted")
	flag.StringVar(&in.Depot, "depot", "", "URL for writing to the depot; empty: the URL that nodes read from")
	tokenFile := flag.String("token-file", "", "file with the token for the depot")
	flag.StringVar(&dirs.request, "request-dir", "", "folder with "+contract.KeyRequest)
	flag.StringVar(&dirs.ssh, "ssh-dir", "", "folder with "+node.KeyFile)
	flag.DurationVar(&in.ConnectLimit, "connect-limit", 30*time.Second, "how long the connection to a control plane or to etcd may take")
	resultsDir := flag.String("results-dir", task.ResultsDir, "folder for results")
	flag.Parse()

	task.Main(*resultsDir, func(ctx context.Context) (map[string]string, error) {
		token, err := fill(&in, dirs, *namespace, *provisioning, *tokenFile)
		if err != nil {
			return nil, err
		}
		maps, err := kube.ConfigMaps(*namespace)
		if err != nil {
			return nil, err
		}
		out, err := backup.Run(ctx, in, backup.Ports{
			Dial: node.DialSSH,
			Depot: func(ctx context.Context, url string) (*client.Depot, error) {
				return client.Connect(ctx, url, client.Options{TokenFile: token, CA: []byte(in.Request.DepotCA)})
			},
			KnownHosts: kube.NewStore(maps, contract.KnownHostsName(*provisioning)),
			Installed:  kube.NewStore(maps, contract.InstalledName(*provisioning)),
			Log:        os.Stdout,
			Now:        time.Now,
		})
		if err != nil {
			return nil, err
		}
		return out.Results(), nil
	})
}

// fill reads the workspaces, and returns the name of the file with the token for the depot; empty: no
// token must be sent. The token is valid at the site's depot. It is not sent to another depot that a
// Provisioning names, because the author of the Provisioning could read it there.
func fill(in *backup.Input, dirs folders, namespace, provisioning, tokenFile string) (token string, err error) {
	if in.Request, err = task.ReadRequest(dirs.request, namespace, provisioning); err != nil {
		return "", err
	}
	if in.PrivateKey, err = node.ReadFile(dirs.ssh, node.KeyFile); err != nil {
		return "", err
	}
	if !in.Request.DepotOfSite && in.Depot == "" {
		fmt.Println("The depot is not the one in the site's settings (ConfigMap config-bpa), so no token is sent to it.")
		tokenFile = ""
	}
	in.Depot = cmp.Or(in.Depot, in.Request.DepotURL)
	if _, err := os.Stat(tokenFile); err != nil { // a site whose depot needs no token
		return "", nil
	}
	return tokenFile, nil
}
