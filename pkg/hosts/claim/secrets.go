package claim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
)

// MissingSecrets reports that the chosen hosts need Secrets that do not exist. No host was changed.
type MissingSecrets struct {
	Namespace string
	Names     []string // sorted
}

func (e *MissingSecrets) Error() string {
	const most = 5
	text := strings.Join(e.Names[:min(len(e.Names), most)], ", ")
	if more := len(e.Names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("spec.osImage names Secrets that do not exist in namespace %s: create %s", e.Namespace, text)
}

// checkSecrets checks that all Secrets exist that new hosts get together with their image. It does
// not read the contents of the Secrets.
func (c *claimant) checkSecrets(ctx context.Context, d decision) error {
	names := map[string]bool{}
	for _, p := range d.assigned {
		if host := d.snapshot.objects[p.Host]; c.images(host) {
			for _, name := range imaging.Secrets(*c.request.OSImage, p.Host, p.Node) {
				names[name] = true
			}
		}
	}
	lacking := &MissingSecrets{Namespace: c.request.Namespace}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := c.client.Get(ctx, client.ObjectKey{Namespace: c.request.Namespace, Name: name}, secret)
		switch {
		case apierrors.IsNotFound(err):
			lacking.Names = append(lacking.Names, name)
		case err != nil:
			return fmt.Errorf("check Secret %s: %w", name, err)
		}
	}
	if len(lacking.Names) > 0 {
		return lacking
	}
	return nil
}
