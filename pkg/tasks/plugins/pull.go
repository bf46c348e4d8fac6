package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/pack"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Pull reads a site's own plugin from the depot. Its source is plugins/NAME:VERSION or
// plugins/NAME@sha256:HEX. exact is the source with the digest, which names the same content when the tag
// names another one. Its errors have a failure reason.
func Pull(ctx context.Context, depot *client.Depot, source string) (found plugin.Plugin, exact string, err error) {
	place, err := placeOf(source)
	if err != nil {
		return plugin.Plugin{}, "", task.Because(contract.ReasonInvalidRequest, err)
	}
	there, err := depot.Describe(ctx, place)
	if err != nil {
		return plugin.Plugin{}, "", task.Because(contract.ReasonDepotUnavailable, err)
	}
	if there == nil {
		return plugin.Plugin{}, "", task.Because(contract.ReasonArtifactsMissing, fmt.Errorf("the depot %s does not have %s: push it with `kubectl bpa plugins push DIR`", depot.URL(), source))
	}
	manifest, err := depot.GetManifest(ctx, place.Repository, there.Digest)
	if err != nil {
		return plugin.Plugin{}, "", task.Because(contract.ReasonDepotUnavailable, err)
	}
	layer, err := pack.ReadManifest(manifest)
	if err != nil {
		return plugin.Plugin{}, "", task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%s in the depot: %w", source, err))
	}
	digest, err := v1.NewHash(layer.Digest)
	if err != nil {
		return plugin.Plugin{}, "", task.Because(contract.ReasonInvalidRequest, err)
	}
	blob, err := depot.GetBlob(ctx, place.Repository, digest)
	if err != nil {
		return plugin.Plugin{}, "", task.Because(contract.ReasonDepotUnavailable, err)
	}
	defer blob.Close()
	found, err = pack.UnpackVerified(blob, layer)
	if err != nil {
		return plugin.Plugin{}, "", task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%s in the depot: %w", source, err))
	}
	return found, place.Repository + "@" + there.Digest.String(), nil
}

// placeOf returns the place of a plugin in the depot. The name of a registry is not a part of it.
func placeOf(source string) (artifacts.Place, error) {
	name, ok := strings.CutPrefix(source, "plugins/")
	tagged := strings.ContainsAny(name, ":@")
	if i := strings.IndexAny(name, ":@"); i >= 0 {
		name = name[:i]
	}
	if err := plugin.CheckName(name); !ok || !tagged || err != nil {
		return artifacts.Place{}, errors.Join(fmt.Errorf("%.200q is not the source of a plugin, like plugins/NAME:VERSION", source), err)
	}
	return artifacts.Image{Ref: "depot.invalid/" + source}.Place()
}
