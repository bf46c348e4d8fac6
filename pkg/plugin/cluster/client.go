package cluster

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Client works in one application cluster.
type Client struct {
	dynamic dynamic.Interface
	kube    kubernetes.Interface
	kinds   *kinds
	log     io.Writer
	// released are the objects of the plugin that was applied last whose label a user has removed. They
	// stay in the inventory and are not changed, nor waited for.
	released []Ref
}

// Rates of calls. A plugin can have hundreds of objects, and client-go's default is 5 calls a second.
const (
	callsPerSecond = 50
	burstOfCalls   = 100
)

// New returns a client for a cluster. Its calls must have no time limit of their own, because watches use
// the same configuration.
func New(config *rest.Config, log io.Writer) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = callsPerSecond, burstOfCalls
	config.WarningHandler = rest.NoWarnings{} // warnings about deprecated versions concern the author of the plugin
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make an API client: %w", err)
	}
	objects, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make an API client: %w", err)
	}
	kube, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make an API client: %w", err)
	}
	return &Client{dynamic: objects, kube: kube, kinds: newKinds(kube.Discovery()), log: log}, nil
}

// resource returns the client for one kind in the namespace of an object.
func (c *Client) resource(k kind, namespace string) dynamic.ResourceInterface {
	if k.namespaced {
		return c.dynamic.Resource(k.resource).Namespace(namespace)
	}
	return c.dynamic.Resource(k.resource)
}

// Ref names an object.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}

func refOf(o *unstructured.Unstructured) Ref {
	return Ref{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// String returns the kind and the name, such as "DaemonSet kube-system/kube-multus-ds".
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// id identifies the object. Two versions of one API have the same objects.
func (r Ref) id() string {
	return groupOf(r.APIVersion) + "/" + r.Kind + "/" + r.Namespace + "/" + r.Name
}
