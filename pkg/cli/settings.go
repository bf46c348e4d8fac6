package cli

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// depotFor returns the site's depot if the OS image of p was uploaded to it. Otherwise the dry run
// does not need the depot, so depotFor returns the zero value and does not read the settings.
func (s *site) depotFor(ctx context.Context, p *v1alpha1.Provisioning) (settings.Depot, error) {
	if p.Spec.OSImage == nil || p.Spec.OSImage.Upload == "" {
		return settings.Depot{}, nil
	}
	parsed, err := s.settings(ctx)
	if err != nil {
		return settings.Depot{}, err
	}
	if why := from.DepotProblem(p, parsed.Depot); why != "" {
		return settings.Depot{}, errors.New(why)
	}
	return parsed.Depot, nil
}

// settings returns the site's settings. A ConfigMap that does not exist is as one without settings.
func (s *site) settings(ctx context.Context) (settings.Settings, error) {
	return s.readSettings(ctx, "which name the depot of spec.osImage.upload")
}

// readSettings is settings. use says in an error what the settings are read for.
func (s *site) readSettings(ctx context.Context, use string) (settings.Settings, error) {
	cm := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}}
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(&cm), &cm); err != nil && !apierrors.IsNotFound(err) {
		return settings.Settings{}, fmt.Errorf("read the site's settings (ConfigMap %s in namespace %s), %s: %w",
			settings.Name, settings.Namespace, use, err)
	}
	parsed, err := settings.Parse(&cm)
	if err != nil {
		return settings.Settings{}, fmt.Errorf("the site's settings are wrong, so no run starts: %w", err)
	}
	return parsed, nil
}
