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

// fieldManager is the name with which this machine applies objects server-side. foreign recognises
// objects of this machine by it.
const fieldManager = "bpa-bootstrap"

// definition has the fields of a CustomResourceDefinition that decide whether it may be replaced.
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

// installMetal3 applies the Metal3 CRDs, except those that another Metal3 installation owns. kept
// lists the CRDs that it did not apply, each with the reason in parentheses.
func (c Cluster) installMetal3(ctx context.Context) (changed bool, kept []string, err error) {
	var ours [][]byte
	absent := false
	for document := range bytes.SplitSeq(manifests.Metal3, []byte("---\n")) {
		var wanted definition
		if err := yaml.Unmarshal(document, &wanted); err != nil {
			return false, nil, fmt.Errorf("read Metal3's CRDs: %w", err)
		}
		if wanted.Metadata.Name == "" {
			continue // the text before the first CRD is only a comment
		}
		present, err := c.definition(ctx, wanted.Metadata.Name)
		if err != nil {
			return false, nil, err
		}
		if reason := foreign(present, wanted); reason != "" {
			kept = append(kept, fmt.Sprintf("%s (%s)", wanted.Metadata.Name, reason))
			continue
		}
		absent = absent || present.Metadata.Name == ""
		ours = append(ours, document)
	}
	if len(ours) == 0 {
		return false, kept, nil
	}
	text := bytes.Join(ours, []byte("---\n"))
	if absent { // somebody may have deleted the CRD since it was applied
		return true, kept, c.applyAndRecord(ctx, "metal3-crds", text)
	}
	changed, err = c.Apply(ctx, "metal3-crds", text)
	return changed, kept, err
}

// definition returns a CRD of the cluster. If the CRD does not exist, the result has no name.
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

// foreign returns the reason why this machine must not replace the present CRD, or "" if the CRD is
// absent or was created by this machine. A CRD of this machine has no other field manager, and no
// labels or served versions that the wanted CRD lacks. The field manager of the status does not
// count, because it is always the API server.
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

// missing lists the elements of the slice all that the slice some does not contain.
func missing(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(some, name) })
}
