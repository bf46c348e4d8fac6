package main

import (
	"context"
	"fmt"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// flux applies and compares as Flux's kustomize-controller does.
func flux(c client.Client) tool {
	manager := ssa.NewResourceManager(c, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	target := func(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		object = object.DeepCopy()
		manager.SetOwnerLabels([]*unstructured.Unstructured{object}, "site", "flux-system")
		return object, normalize.Unstructured(object)
	}
	return tool{
		name: "flux",
		sync: func(ctx context.Context, object *unstructured.Unstructured) error {
			object, err := target(object)
			if err != nil {
				return err
			}
			_, err = manager.Apply(ctx, object, ssa.DefaultApplyOptions())
			return err
		},
		diff: func(ctx context.Context, object *unstructured.Unstructured) (string, error) {
			object, err := target(object)
			if err != nil {
				return "", err
			}
			change, stored, applied, err := manager.Diff(ctx, object, ssa.DefaultDiffOptions())
			if err != nil || change.Action == ssa.UnchangedAction {
				return "", err
			}
			if stored == nil {
				return string(change.Action), nil
			}
			return fmt.Sprintf("%s (-stored +file):\n%s", change.Action, cmp.Diff(stored.Object, applied.Object)), nil
		},
	}
}
