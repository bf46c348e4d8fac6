// Command collect-kubeconfig is the task collect-kubeconfig. It has the new cluster sign the
// certificate of the kubeconfig.
package main

import (
	"context"
	"flag"
	"os"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/collectkubeconfig"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func main() {
	in := collectkubeconfig.Input{}
	provisioning := flag.String("provisioning", "", "name of the Provisioning")
	namespace := flag.String("namespace", "", "namespace of the Provisioning")
	flag.StringVar(&in.CertificateRequest, "certificate-request", "", "certificate request (PKCS#10) for the client certificate, PEM")
	requestDir := flag.String("request-dir", "", "folder with "+contract.KeyRequest)
	inventoryDir := flag.String("inventory-dir", "", "folder with "+contract.KeyNodes)
	sshDir := flag.String("ssh-dir", "", "folder with "+node.KeyFile)
	flag.DurationVar(&in.ConnectLimit, "connect-limit", 15*time.Second, "how long the connection to a control plane may take")
	flag.DurationVar(&in.SignLimit, "sign-limit", 2*time.Minute, "how long the new cluster may take to sign the certificate")
	resultsDir := flag.String("results-dir", task.ResultsDir, "folder for results")
	flag.Parse()

	task.Main(*resultsDir, func(ctx context.Context) (map[string]string, error) {
		var err error
		if in.Request, err = task.ReadRequest(*requestDir, *namespace, *provisioning); err != nil {
			return nil, err
		}
		if in.Nodes, err = task.ReadMembers(*inventoryDir, in.Request); err != nil {
			return nil, err
		}
		if in.PrivateKey, err = node.ReadFile(*sshDir, node.KeyFile); err != nil {
			return nil, err
		}
		maps, err := kube.ConfigMaps(*namespace)
		if err != nil {
			return nil, err
		}
		out, err := collectkubeconfig.Run(ctx, in, collectkubeconfig.Ports{
			Dial:       node.DialSSH,
			KnownHosts: kube.NewStore(maps, contract.KnownHostsName(*provisioning)),
			Log:        os.Stdout,
		})
		if err != nil {
			return nil, err
		}
		return out.Results()
	})
}
