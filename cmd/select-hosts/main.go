// Command select-hosts is the task select-hosts. It claims a host for every node that a
// Provisioning asks for.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/selecthosts"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func main() {
	provisioning := flag.String("provisioning", "", "name of the Provisioning to claim hosts for")
	namespace := flag.String("namespace", "", "namespace of the Provisioning and of the hosts")
	requestDir := flag.String("request-dir", "", "folder with "+contract.KeyRequest)
	resultsDir := flag.String("results-dir", task.ResultsDir, "folder for results")
	flag.Parse()

	task.Main(*resultsDir, func(ctx context.Context) (map[string]string, error) {
		request, err := task.ReadRequest(*requestDir, *namespace, *provisioning)
		if err != nil {
			return nil, err
		}
		hosts, err := hostClient()
		if err != nil {
			return nil, task.Because(kube.Reason(err), fmt.Errorf("find the API server: %w", err))
		}
		maps, err := kube.ConfigMaps(*namespace)
		if err != nil {
			return nil, err
		}
		out, err := selecthosts.Run(ctx, selecthosts.Input{Request: request}, selecthosts.Ports{
			Hosts:   hosts,
			Record:  kube.NewStore(maps, contract.InstalledName(*provisioning)),
			Outcome: kube.NewStore(maps, request.Outcome),
			Log:     os.Stdout,
		})
		return out.Results(), err
	})
}

// callLimit is the maximum time of one call to the API server. It also ends watches, which are then
// started again.
const callLimit = 30 * time.Second

// hostClient returns a client for hosts, without a cache. If $KUBECONFIG is set, the client calls
// the API server in that kubeconfig. Otherwise it calls the API server of the cluster in which this
// pod runs.
func hostClient() (client.WithWatch, error) {
	config, err := apiServer()
	if err != nil {
		return nil, err
	}
	config.Timeout = callLimit
	// The default of 5 requests a second is too slow for a large cluster. The API server limits its
	// own load, so a high limit does no harm.
	config.QPS, config.Burst = 200, 400
	// The API server is on this machine, so compressing a list takes longer than sending it.
	config.DisableCompression = true
	config.UserAgent = "bpa-" + contract.TaskSelectHosts
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metal3.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

func apiServer() (*rest.Config, error) {
	if path := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); path != "" {
		return clientcmd.BuildConfigFromFlags("", path)
	}
	return rest.InClusterConfig()
}
