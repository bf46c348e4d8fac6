// Command webhook sets defaults and rejects invalid input when a user applies a Provisioning. It
// also rejects invalid settings of the site. It makes its own certificate, keeps it in a Secret,
// and publishes the CA to the API server in the webhook configurations of config/.
package main

import (
	"context"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/apis"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/signals"
	"knative.dev/pkg/system"
	"knative.dev/pkg/webhook"
	"knative.dev/pkg/webhook/certificates"
	"knative.dev/pkg/webhook/configmaps"
	"knative.dev/pkg/webhook/resourcesemantics"
	"knative.dev/pkg/webhook/resourcesemantics/defaulting"
	"knative.dev/pkg/webhook/resourcesemantics/validation"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// Names of the objects in config/ that belong to this program.
const (
	component      = "bpa-webhook" // Deployment and Service
	secret         = "bpa-webhook-certs"
	defaultingName = "defaulting.webhook.bpa.akraino.org"
	validationName = "validation.webhook.bpa.akraino.org"
	settingsName   = "settings.webhook.bpa.akraino.org"
)

// gracePeriod is the time for open requests to finish before the process exits.
const gracePeriod = 5 * time.Second

// kinds returns all kinds of the API. It panics if a kind has no defaulting or no checks, so a program with such a
// kind does not start. made returns the object that the webhook reads into.
func kinds(made func(checked) resourcesemantics.GenericCRD) map[schema.GroupVersionKind]resourcesemantics.GenericCRD {
	all := map[schema.GroupVersionKind]resourcesemantics.GenericCRD{}
	for _, kind := range v1alpha1.Kinds {
		empty := checked{kind.Object.(typed)}
		empty.Validate(apis.WithinDelete(context.Background()))
		all[v1alpha1.SchemeGroupVersion.WithKind(kind.Name)] = admitted{made(empty)}
	}
	return all
}

func asWritten(c checked) resourcesemantics.GenericCRD { return &written{checked: c} }

func asTyped(c checked) resourcesemantics.GenericCRD { return &c }

// admitted makes the API server ask this program only about creations and updates of objects. The
// API server does not ask about deletions and status updates, so they succeed even while this
// program is not running.
type admitted struct{ resourcesemantics.GenericCRD }

var (
	_ resourcesemantics.VerbLimited        = admitted{}
	_ resourcesemantics.SubResourceLimited = admitted{}
)

// SupportedVerbs returns the operations that this program checks. It implements
// resourcesemantics.VerbLimited.
func (admitted) SupportedVerbs() []admissionregistrationv1.OperationType {
	return []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
}

// SupportedSubResources returns only the empty name, which means the object itself. It implements
// resourcesemantics.SubResourceLimited.
func (admitted) SupportedSubResources() []string { return []string{""} }

func main() {
	ctx := injection.WithNamespaceScope(signals.NewContext(), system.Namespace())
	ctx = webhook.WithOptions(ctx, webhook.Options{
		ServiceName: component,
		SecretName:  secret,
		Port:        webhook.PortFromEnv(8443),
		GracePeriod: gracePeriod,
	})
	// Every replica does this work, without a leader election. The work is small, and conflicts
	// between replicas are retried. A leader election would only delay the start.
	ctx = sharedmain.WithHADisabled(ctx)
	// The kubelet's probes use the webhook's own port, which answers only after the certificate
	// exists. The separate server for probes is therefore off.
	ctx = sharedmain.WithHealthProbesDisabled(ctx)
	sharedmain.MainWithContext(ctx, component, certificates.NewController, newDefaulting, newValidation, newSettings)
}

func newDefaulting(ctx context.Context, _ configmap.Watcher) *controller.Impl {
	return defaulting.NewAdmissionController(ctx, defaultingName, "/defaulting", kinds(asWritten), nil, true)
}

func newValidation(ctx context.Context, _ configmap.Watcher) *controller.Impl {
	return validation.NewAdmissionController(ctx, validationName, "/validation", kinds(asTyped), nil, true)
}

func newSettings(ctx context.Context, _ configmap.Watcher) *controller.Impl {
	return configmaps.NewAdmissionController(ctx, settingsName, "/settings", configmap.Constructors{settings.Name: settings.Check})
}
