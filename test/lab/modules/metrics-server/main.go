// Command metrics-server is metrics-server v0.7.2 with the libraries of the Kubernetes version that
// the lab runs. Upstream's own command does not compile with them, because it sets a field that the
// library of API servers has no more. The flags have upstream's names, meanings and defaults; flags
// that this command lacks are errors.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/metrics-server/pkg/scraper/client"
	"sigs.k8s.io/metrics-server/pkg/server"
	"sigs.k8s.io/metrics-server/pkg/utils"
)

// options are the values of the flags.
type options struct {
	serving        *genericoptions.SecureServingOptionsWithLoopback
	authentication *genericoptions.DelegatingAuthenticationOptions
	authorization  *genericoptions.DelegatingAuthorizationOptions

	resolution    time.Duration
	timeout       time.Duration
	useStatusPort bool
	addressTypes  []string
	insecure      bool
	authority     string
	nodeSelector  string
}

func main() {
	if err := command().Execute(); err != nil {
		os.Exit(1) // cobra has printed the error
	}
}

func command() *cobra.Command {
	o := options{
		serving:        genericoptions.NewSecureServingOptions().WithLoopback(),
		authentication: genericoptions.NewDelegatingAuthenticationOptions(),
		authorization:  genericoptions.NewDelegatingAuthorizationOptions(),
	}
	c := &cobra.Command{
		Use:          "metrics-server",
		Short:        "Serve the use of CPU and memory by nodes and pods",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(c *cobra.Command, _ []string) error { return o.run() },
	}
	f := c.Flags()
	o.serving.AddFlags(f)
	o.authentication.AddFlags(f)
	o.authorization.AddFlags(f)
	f.DurationVar(&o.resolution, "metric-resolution", time.Minute, "time between two looks at the kubelets, at least 10s")
	f.DurationVar(&o.timeout, "kubelet-request-timeout", 10*time.Second, "time limit of one request to a kubelet")
	f.BoolVar(&o.useStatusPort, "kubelet-use-node-status-port", false, "use the port in the node's status")
	f.StringSliceVar(&o.addressTypes, "kubelet-preferred-address-types", addressTypes(), "types of node addresses, the preferred one first")
	f.BoolVar(&o.insecure, "kubelet-insecure-tls", false, "do not verify the serving certificates of kubelets")
	f.StringVar(&o.authority, "kubelet-certificate-authority", "", "file with the authority of the kubelets' serving certificates")
	f.StringVarP(&o.nodeSelector, "node-selector", "l", "", "label selector of the nodes")
	return c
}

func addressTypes() (out []string) {
	for _, t := range utils.DefaultAddressTypePriority {
		out = append(out, string(t))
	}
	return out
}

// run serves until it receives a signal.
func (o options) run() error {
	switch {
	case o.resolution < 10*time.Second:
		return fmt.Errorf("--metric-resolution=%s is less than 10s", o.resolution)
	case o.resolution*9/10 < o.timeout:
		return fmt.Errorf("--metric-resolution=%s must be larger than --kubelet-request-timeout=%s by a tenth", o.resolution, o.timeout)
	case o.insecure && o.authority != "":
		return errors.New("--kubelet-insecure-tls and --kubelet-certificate-authority exclude each other")
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	if err := rest.SetKubernetesDefaults(config); err != nil {
		return err
	}
	apiserver, err := o.apiserver()
	if err != nil {
		return err
	}
	s, err := server.Config{
		Apiserver: apiserver, Rest: config, Kubelet: o.kubelets(config),
		MetricResolution: o.resolution, ScrapeTimeout: o.timeout, NodeSelector: o.nodeSelector,
	}.Complete()
	if err != nil {
		return err
	}
	return s.RunUntil(genericapiserver.SetupSignalHandler())
}

func (o options) kubelets(config *rest.Config) *client.KubeletClientConfig {
	kubelets := &client.KubeletClientConfig{Scheme: "https", DefaultPort: 10250, UseNodeStatusPort: o.useStatusPort, Client: *rest.CopyConfig(config)}
	for _, t := range o.addressTypes {
		kubelets.AddressTypePriority = append(kubelets.AddressTypePriority, corev1.NodeAddressType(t))
	}
	tls := &kubelets.Client.TLSClientConfig
	switch {
	case o.insecure:
		tls.Insecure, tls.CAData, tls.CAFile = true, nil, ""
	case o.authority != "":
		tls.CAData, tls.CAFile = nil, o.authority
	}
	return kubelets
}
