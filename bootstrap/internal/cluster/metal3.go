package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/manifests"
)

// fieldManager is the name under which this machine applies; the API server keeps it with every field.
const fieldManager = "bpa-bootstrap"

// definition is what decides about a CustomResourceDefinition.
type definition struct {
	Metadata struct {
		Name          string
		Labels        map[string]string
		ManagedFields []struct{ Manager, Subresource string }
	}
	Spec struct {
		Versions []struct {
			Name   string
			Served bool
		}
	}
}

// installMetal3 applies Metal3's CRDs except those that a Metal3 installation of the site owns: kept says which and why.
func (c Cluster) installMetal3(ctx context.Context) (changed bool, kept []string, err error) {
	var ours [][]byte
	absent := false
	for document := range bytes.SplitSeq(manifests.Metal3, []byte("---\n")) {
		var wanted definition
		if err := yaml.Unmarshal(document, &wanted); err != nil {
			return false, nil, fmt.Errorf("read Metal3's CRDs: %w", err)
		}
		if wanted.Metadata.Name == "" {
			continue // the comment before the first
		}
		present, err := c.definition(ctx, wanted.Metadata.Name)
		if err != nil {
			return false, nil, err
		}
		if owner := foreign(present, wanted); owner != "" {
			kept = append(kept, fmt.Sprintf("%s (%s)", wanted.Metadata.Name, owner))
			continue
		}
		absent = absent || present.Metadata.Name == ""
		ours = append(ours, document)
	}
	if len(ours) == 0 {
		return false, kept, nil
	}
	text := bytes.Join(ours, []byte("---\n"))
	if absent { // the mark that it was applied can be older than its removal
		return true, kept, c.applyAgain(ctx, "metal3-crds", text)
	}
	changed, err = c.Apply(ctx, "metal3-crds", text)
	return changed, kept, err
}

// definition gives a CRD as the cluster has it; one without a name if there is none.
func (c Cluster) definition(ctx context.Context, name string) (definition, error) {
	var present definition
	text, err := c.kubectl(ctx, time.Minute, nil, "get", "crd", name, "--ignore-not-found", "--show-managed-fields", "-o", "yaml")
	if err != nil {
		return present, err
	}
	if err := yaml.Unmarshal([]byte(text), &present); err != nil {
		return present, fmt.Errorf("read CRD %s: %w", name, err)
	}
	return present, nil
}

// foreign says why a present CRD is not this machine's to replace; it is empty if the CRD is absent or ours. Ours has one field
// manager, no labels, and no version that the wanted one lacks. The API server itself writes the status only.
func foreign(present, wanted definition) string {
	if present.Metadata.Name == "" {
		return ""
	}
	for _, m := range present.Metadata.ManagedFields {
		if m.Subresource == "" && m.Manager != fieldManager {
			return "managed by " + m.Manager
		}
	}
	if newer := missing(served(present), served(wanted)); len(newer) > 0 {
		return "serves " + strings.Join(newer, ", ")
	}
	for label := range present.Metadata.Labels {
		if _, known := wanted.Metadata.Labels[label]; !known {
			return "labelled " + label
		}
	}
	return ""
}

func served(d definition) []string {
	var names []string
	for _, v := range d.Spec.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// missing lists what is in all and not in some.
func missing(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(some, name) })
}
