package cli

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// ask gives an annotation of the Provisioning a value, by which a user asks the controller for something. p is then as it is
// stored. what completes the error "request ... of NAME".
func (s *site) ask(ctx context.Context, p *v1alpha1.Provisioning, annotation, value, what string) error {
	before := p.DeepCopy()
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[annotation] = value
	if err := s.client.Patch(ctx, p, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("request %s of %s: %w", what, p.Name, s.explain(err))
	}
	return nil
}

// stamp returns a value that no earlier request has.
func (s *session) stamp() string { return s.now().UTC().Format(time.RFC3339Nano) }
