package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/pack"
	"github.com/akraino-icn/bpa/pkg/plugin/render"
)

func newPluginsPush(s *session) *cobra.Command {
	var depot depotFlags
	var check bool
	cmd := &cobra.Command{
		Use:   "push DIR",
		Short: "Check a plugin of the site and upload it to a depot",
		Long: `Check a plugin of the site and upload it to a depot, as plugins/NAME:VERSION. The
directory is described in docs/plugins.md. It is loaded, its parameters are checked, and
its objects are rendered with the defaults, before anything is sent. The images of the
plugin must be in the depot too: "kubectl bpa bundle" copies images.`,
		Example: `  kubectl create token bpa-depot-filler --audience=depot.bpa.akraino.org >token
  kubectl bpa plugins push my-plugin --depot https://10.60.0.1:5443 --depot-token-file token --depot-ca ca.crt
  kubectl bpa plugins push my-plugin --check`,
		Args: onePlugin("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := loadOwn(args[0])
			if err != nil {
				return err
			}
			if check {
				_, err := fmt.Fprintf(s.Out, "plugin %s %s is valid\n", p.Name, p.Version)
				return err
			}
			return interrupted(cmd.Context(), s.pushPlugin(cmd.Context(), p, depot))
		},
	}
	depot.add(cmd, "depot", "URL of the depot")
	cmd.Flags().BoolVar(&check, "check", false, "only check the plugin; nothing is sent")
	return cmd
}

// loadOwn loads a plugin of the site and checks everything that can be checked without a cluster.
func loadOwn(dir string) (plugin.Plugin, error) {
	p, err := plugin.Load(os.DirFS(dir))
	if err != nil {
		return plugin.Plugin{}, fmt.Errorf("%s: %w", dir, err)
	}
	switch _, shipped := plugin.Shipped()[p.Name]; {
	case shipped:
		return plugin.Plugin{}, fmt.Errorf("%s: BPA ships a plugin %s, which would be used instead: give yours another name", dir, p.Name)
	case p.Status == plugin.Retired:
		return plugin.Plugin{}, fmt.Errorf("%s: plugin %s is retired: there is nothing to install", dir, p.Name)
	}
	if err := p.CheckOwn(); err != nil {
		return plugin.Plugin{}, fmt.Errorf("%s: %w", dir, err)
	}
	if err := render.Check(p); err != nil {
		return plugin.Plugin{}, fmt.Errorf("%s: %w", dir, err)
	}
	return p, nil
}

func (s *session) pushPlugin(ctx context.Context, p plugin.Plugin, f depotFlags) error {
	artifact, err := pack.Pack(p)
	if err != nil {
		return err
	}
	depot, err := f.connect(ctx, "depot")
	if err != nil {
		return err
	}
	defer depot.Close()
	if err := pushArtifact(ctx, depot, artifact); err != nil {
		return err
	}
	_, err = fmt.Fprint(s.Out, pushed(p, artifact, depot.URL()))
	return err
}

// pushArtifact uploads the blobs of a plugin and then its manifest, so that a tag never names something
// incomplete.
func pushArtifact(ctx context.Context, depot *client.Depot, a pack.Artifact) error {
	place, err := artifacts.Image{Ref: "depot.invalid/" + a.Repository + ":" + a.Tag}.Place()
	if err != nil {
		return err
	}
	for _, blob := range [][]byte{a.Config, a.Layer} {
		if err := depot.PutBlob(ctx, place.Repository, "", static.NewLayer(blob, types.MediaType(pack.LayerType))); err != nil {
			return err
		}
	}
	return depot.PutManifest(ctx, place, types.OCIManifestSchema1, a.Manifest)
}

// pushed says what was uploaded and how a Provisioning requests it.
func pushed(p plugin.Plugin, a pack.Artifact, url string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pushed %s:%s to %s\n  %s\n\nRequest it in a Provisioning:\n  spec:\n    KUDPlugins: [%s]\n    plugins:\n      %s: {version: %s}\n",
		a.Repository, a.Tag, url, a.Digest, strings.Join(append(slices.Clone(p.Needs), p.Name), ", "), p.Name, a.Tag)
	if images := slices.Concat(p.Images, p.IndirectImages); len(images) > 0 {
		fmt.Fprintf(&b, "\nThe depot must also have its images, which every run checks first:\n  %s\n", strings.Join(images, "\n  "))
	}
	return b.String()
}
