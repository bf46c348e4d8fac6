package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/argo"
	argodiff "github.com/argoproj/argo-cd/v3/util/argo/diff"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// argoCD returns the ways in which Argo CD's controller applies and compares, as its function CompareAppState chooses them by
// the options of an Application: without an option, with the sync option ServerSideApply=true, and with the compare options
// ServerSideDiff=true and IncludeMutationWebhook=true, which hides nothing that BPA's webhook writes.
func argoCD(config *rest.Config, c client.Client) (tools []tool, cleanup func(), err error) {
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	schema, parser, err := kubectl.LoadOpenAPISchema(config)
	if err != nil {
		return nil, func() {}, err
	}
	operations, cleanupSync, err := kubectl.ManageResources(config, schema)
	if err != nil {
		return nil, func() {}, err
	}
	dryRuns, cleanupDryRuns, err := kube.ManageServerSideDiffDryRuns(config, schema, tracing.NopTracer{}, logr.Discard(), nil)
	if err != nil {
		return nil, cleanupSync, err
	}
	build := func() *argodiff.DiffConfigBuilder {
		return argodiff.NewDiffConfigBuilder().WithNoCache().WithGVKParser(parser).WithManager(common.ArgoCDSSAManager).
			WithDiffSettings(nil, nil, false, normalizers.IgnoreNormalizerOpts{}).
			WithTracking(common.LabelKeyAppInstance, string(v1alpha1.TrackingMethodAnnotation))
	}
	add := func(name string, serverSideApply bool, settings *argodiff.DiffConfigBuilder) {
		a := application{c, operations, settings, serverSideApply}
		tools = append(tools, tool{name, a.sync, a.diff})
	}
	add("argocd", false, build())
	add("argocd-server-side-apply", true, build().WithStructuredMergeDiff(true))
	add("argocd-server-side-diff", true, build().WithStructuredMergeDiff(true).WithServerSideDiff(true).
		WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(dryRuns)).WithIgnoreMutationWebhook(false))
	return tools, func() { cleanupSync(); cleanupDryRuns() }, nil
}

// application is an Application of Argo CD with its options.
type application struct {
	client          client.Client
	operations      kube.ResourceOperations
	settings        *argodiff.DiffConfigBuilder
	serverSideApply bool
}

// target is the object as Argo CD applies it, with the annotation by which Argo CD knows its objects.
func (a application) target(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object = object.DeepCopy()
	return object, argo.NewResourceTracking().SetAppInstance(object, common.LabelKeyAppInstance, "site", object.GetNamespace(), v1alpha1.TrackingMethodAnnotation, "")
}

func (a application) sync(ctx context.Context, object *unstructured.Unstructured) error {
	object, err := a.target(object)
	if err != nil {
		return err
	}
	const force, validate = false, true
	_, err = a.operations.ApplyResource(ctx, object, cmdutil.DryRunNone, force, validate, a.serverSideApply, common.ArgoCDSSAManager)
	return err
}

func (a application) diff(ctx context.Context, object *unstructured.Unstructured) (string, error) {
	object, err := a.target(object)
	if err != nil {
		return "", err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	if err := a.client.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
		return "", err
	}
	settings, err := a.settings.Build()
	if err != nil {
		return "", err
	}
	result, err := argodiff.StateDiff(live, object, settings)
	if err != nil || !result.Modified {
		return "", err
	}
	var stored, applied any
	if err := json.Unmarshal(result.NormalizedLive, &stored); err != nil {
		return "", err
	}
	if err := json.Unmarshal(result.PredictedLive, &applied); err != nil {
		return "", err
	}
	return fmt.Sprintf("OutOfSync (-stored +file):\n%s", cmp.Diff(stored, applied)), nil
}
