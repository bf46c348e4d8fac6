package collectkubeconfig

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
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

// Run reads the admin kubeconfig on a control plane and uses it to let the new cluster sign the
// request. It returns the certificate.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	request, err := parseRequest(in.CertificateRequest)
	if err != nil {
		return Output{}, task.Because(contract.ReasonInvalidRequest, err)
	}
	conn, master, err := connect(ctx, in, ports)
	if err != nil {
		return Output{}, err
	}
	defer conn.Close()
	fmt.Fprintf(ports.Log, "Connected to %s (%s)\n", master.Name, master.Address)

	admin, err := readAdmin(ctx, in, conn, master)
	if err != nil {
		return Output{}, err
	}
	cluster, err := admin.open(conn, in.ConnectLimit)
	if err != nil {
		return Output{}, err
	}
	version, err := cluster.version()
	if err != nil {
		return Output{}, err
	}
	fmt.Fprintf(ports.Log, "The API server at %s runs Kubernetes %s\n", admin.endpoint, version)

	signed, err := cluster.sign(ctx, in, request)
	if err != nil {
		return Output{}, err
	}
	fmt.Fprintf(ports.Log, "The cluster has signed the certificate for %s, valid until %s\n", signed.Subject, signed.NotAfter.UTC().Format(time.RFC3339))
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed.Raw})
	return Output{CA: string(admin.ca), Certificate: string(certificate), Endpoint: admin.endpoint, Version: version}, nil
}

// parseRequest reads a certificate request and checks its signature. The signature proves that the
// author of the request has the private key.
func parseRequest(text string) (*x509.CertificateRequest, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE REQUEST" || strings.TrimSpace(string(rest)) != "" {
		return nil, fmt.Errorf("param %s is not one certificate request in PEM", contract.ParamCertificateRequest)
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err == nil {
		err = request.CheckSignature()
	}
	if err != nil {
		return nil, fmt.Errorf("param %s: %w", contract.ParamCertificateRequest, err)
	}
	return request, nil
}

func connect(ctx context.Context, in Input, ports Ports) (node.Connection, contract.Node, error) {
	key, err := ssh.ParseKey(in.PrivateKey)
	if err != nil {
		return nil, contract.Node{}, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the SSH Secret's %s %w", node.KeyFile, err))
	}
	text, err := ports.KnownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return nil, contract.Node{}, task.Because(kube.Reason(err), err)
	}
	pins, err := ssh.ParsePins(text)
	if err != nil {
		return nil, contract.Node{}, task.Because(contract.ReasonInvalidRequest,
			fmt.Errorf("ConfigMap %s: %w", contract.KnownHostsName(in.Request.Provisioning), err))
	}
	access := node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit}
	return access.FirstControlPlane(ctx, in.Nodes)
}

// adminPath is the path of the administrator's kubeconfig on a control plane. kubespray runs
// kubeadm, which writes the file.
const adminPath = "/etc/kubernetes/admin.conf"

func readAdmin(ctx context.Context, in Input, conn node.Connection, master contract.Node) (*admin, error) {
	ctx, cancel := context.WithTimeout(ctx, in.ConnectLimit)
	defer cancel()
	text, err := conn.Output(ctx, node.AsRoot(in.Request, "cat "+adminPath), 256<<10)
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit):
		return nil, &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: master.Name, Step: "read " + adminPath, Err: exit}
	case err != nil:
		return nil, &task.Error{Reason: node.Reason(err), Host: master.Name, Step: "read " + adminPath, Err: err}
	}
	admin, err := parseAdmin(text, master.Address)
	if err != nil {
		return nil, &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: master.Name, Step: "read " + adminPath, Err: err}
	}
	return admin, nil
}
