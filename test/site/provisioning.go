package site

import (
	"context"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Option changes a Provisioning before it is created.
type Option func(*v1alpha1.Provisioning)

// Provisioning returns a Provisioning for this site with the variables that lab machines need, and with the defaults
// of BPA for all else, such as the network plugin. Apply creates it in the cluster.
func (s *Site) Provisioning(name string, options ...Option) *v1alpha1.Provisioning {
	s.T.Helper()
	p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	if s.Pool != s.Namespace {
		p.Spec.HostNamespace = s.Pool
	}
	for key, value := range Vars(s.T) {
		Var(key, value)(p)
	}
	for _, o := range options {
		o(p)
	}
	return p
}

// Master adds a control plane node.
func Master(name string, m v1alpha1.Master) Option {
	return func(p *v1alpha1.Provisioning) {
		p.Spec.Masters = append(p.Spec.Masters, map[string]v1alpha1.Master{name: m})
	}
}

// Worker adds a worker node.
func Worker(name string, w v1alpha1.Worker) Option {
	return func(p *v1alpha1.Provisioning) {
		p.Spec.Workers = append(p.Spec.Workers, map[string]v1alpha1.Worker{name: w})
	}
}

// Var sets a kubespray variable.
func Var(key string, value json.RawMessage) Option {
	return func(p *v1alpha1.Provisioning) {
		if p.Spec.Kubespray.Vars == nil {
			p.Spec.Kubespray.Vars = map[string]apiextensionsv1.JSON{}
		}
		p.Spec.Kubespray.Vars[key] = apiextensionsv1.JSON{Raw: value}
	}
}

// Apply creates a Provisioning through the API server, so that the webhooks check it.
func (s *Site) Apply(p *v1alpha1.Provisioning) *v1alpha1.Provisioning {
	s.T.Helper()
	if err := s.Create(context.Background(), p); err != nil {
		s.T.Fatalf("apply %s: %v", p.Name, err)
	}
	return p
}

// Change changes the spec or metadata of the Provisioning. It reads the current object and sends a
// merge patch, as kubectl edit does.
func (s *Site) Change(p *v1alpha1.Provisioning, change func(*v1alpha1.Provisioning)) {
	s.T.Helper()
	now := &v1alpha1.Provisioning{}
	if err := s.Get(context.Background(), client.ObjectKeyFromObject(p), now); err != nil {
		s.T.Fatal(err)
	}
	before := now.DeepCopy()
	change(now)
	if err := s.Patch(context.Background(), now, client.MergeFrom(before)); err != nil {
		s.T.Fatal(err)
	}
}

// MAC returns a MAC address as the type that the spec uses.
func MAC(address string) *v1alpha1.MAC {
	m := v1alpha1.MAC(address)
	return &m
}
