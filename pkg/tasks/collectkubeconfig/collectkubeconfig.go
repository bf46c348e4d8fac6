package collectkubeconfig

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input holds the parameters of one run.
type Input struct {
	Request    contract.Request
	Nodes      []contract.Node
	PrivateKey []byte // private key of the SSH user, in PEM
	// CertificateRequest is a PKCS#10 request in PEM.
	CertificateRequest string
	// ConnectLimit bounds the time to connect to a node and to the API server. SignLimit bounds the
	// time until the certificate is signed.
	ConnectLimit, SignLimit time.Duration
}

// Output holds the results of one run. The controller makes the kubeconfig from these results and
// from the private key. Only the controller has that key.
type Output struct {
	CA, Certificate string // PEM
	Endpoint        string // https://address:port
	Version         string // such as v1.35.4
}

// Ports are the functions and objects through which the task reaches the outside.
type Ports struct {
	Dial node.Dial
	// KnownHosts is the ConfigMap in which the task kubespray has pinned the host keys.
	KnownHosts interface {
		Get(ctx context.Context, key string) (string, error)
	}
	Log io.Writer
}

// Results returns the output as Tekton results, by name. It fails if the results are larger than
// Tekton's limit of 4096 bytes for all results of a task.
func (o Output) Results() (map[string]string, error) {
	results := map[string]string{
		contract.ResultCA: o.CA, contract.ResultCertificate: o.Certificate, contract.ResultEndpoint: o.Endpoint, contract.ResultVersion: o.Version,
	}
	if size := messageSize(results); size > maxMessage {
		return nil, task.Because(contract.ReasonInternal,
			fmt.Errorf("the results have %d bytes, more than Tekton's limit of %d: the CA has %d bytes, the certificate %d", size, maxMessage, len(o.CA), len(o.Certificate)))
	}
	return results, nil
}

// Run reads the admin kubeconfig on a control plane and uses it to let the cluster sign the request. It
// returns the certificate. It uses the first control plane, in the order of the inventory, that answers
// by SSH and whose API server answers: the others may be dead. The endpoint is the API server of this
// control plane, unless a load balancer is in front of the API servers. The task does not depend on that load balancer
// if the spec names it: the log says if it does not answer.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	request, err := access.ParseRequest([]byte(in.CertificateRequest))
	if err != nil {
		return Output{}, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("param %s: %w", contract.ParamCertificateRequest, err))
	}
	entry, err := appcluster.Reach(ctx, appcluster.Input{Request: in.Request, Nodes: in.Nodes, PrivateKey: in.PrivateKey, Limit: in.ConnectLimit},
		appcluster.Ports{Dial: ports.Dial, KnownHosts: ports.KnownHosts, Log: ports.Log})
	if err != nil {
		return Output{}, err
	}
	defer entry.Close()
	signed, err := sign(ctx, in, entry, request)
	if err != nil {
		return Output{}, err
	}
	fmt.Fprintf(ports.Log, "The cluster has signed the certificate for %s, valid until %s\n", signed.Subject, signed.NotAfter.UTC().Format(time.RFC3339))
	return Output{CA: string(entry.CA), Certificate: string(access.EncodeCertificate(signed)), Endpoint: endpoint(in.Request, entry, ports.Log), Version: entry.Version}, nil
}

// endpoint returns the address of the API servers for users.
func endpoint(r contract.Request, entry *appcluster.Entry, log io.Writer) string {
	balancer := r.API.URL()
	if balancer == "" {
		return entry.Endpoint
	}
	if err := entry.Ask(balancer); err != nil {
		what := "Correct the load balancer"
		if r.API.Moves() {
			what = "Look at the pods bpa-keepalived in namespace kube-system"
		}
		fmt.Fprintf(log, "WARNING: the address of spec.kubernetes.api does not answer, so nobody can use the kubeconfig before it does. %s: %v\n", what, err)
	}
	return balancer
}
