package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

func newBundleExport(s *session) *cobra.Command {
	var o bundleOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Pack the content of a depot into a bundle",
		Long: `Pack the content of a depot into a bundle: everything, or the artifacts on a list.
After an import into another depot, they have the same paths and the same digests.

The bundle contains the OS packages on the list with those dependencies that the
depot has. If the list has no packages for a --system, the bundle contains all
packages that the depot has for the system.`,
		Example: `  kubectl bpa bundle export --depot http://10.60.0.1:5000 --to site.tar --split 4GiB
  kubectl bpa bundle export --depot http://10.60.0.1:5000 --system debian-12 --to packages.tar`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return interrupted(cmd.Context(), s.exportBundle(cmd.Context(), o))
		},
	}
	o.packing(cmd)
	o.depot.add(cmd, "depot", "URL of the depot")
	return cmd
}

func (s *session) exportBundle(ctx context.Context, o bundleOptions) error {
	list, _, err := o.wanted(s.In)
	if err != nil {
		return err
	}
	packages, err := o.packages.take(&list, s.ErrOut)
	if err != nil {
		return err
	}
	form, err := o.form()
	if err != nil {
		return err
	}
	depot, err := o.depot.connect(ctx, "depot")
	if err != nil {
		return err
	}
	if len(o.lists) == 0 && len(o.packages.systems) == 0 && len(packages) == 0 {
		list, err = s.everything(ctx, depot, o.packages.without)
	} else {
		list, err = listed(ctx, depot, o, form, list, packages)
	}
	if err != nil {
		return err
	}
	return s.pack(ctx, form, list, transfer.FromDepot(depot))
}

// listed returns the requested artifacts, and the files of the requested packages with their
// dependencies.
func listed(ctx context.Context, depot *client.Depot, o bundleOptions, f form, list artifacts.List, packages []artifacts.Package) (artifacts.List, error) {
	systems := append(artifacts.List{Packages: packages}.Systems(), o.packages.systems...)
	if o.packages.without {
		systems = nil
	}
	slices.Sort(systems)
	debs, err := heldPackages(ctx, depot, slices.Compact(systems), f, packages)
	if err != nil {
		return list, err
	}
	return artifacts.Merge(list, debs)
}

// everything returns the content of a depot. It leaves out damaged content with a warning, so that
// the rest can be exported.
func (s *session) everything(ctx context.Context, depot *client.Depot, withoutPackages bool) (artifacts.List, error) {
	list, damaged, err := depot.Everything(ctx)
	for _, d := range damaged {
		fmt.Fprintf(s.ErrOut, "warning: not in the bundle, because it is damaged in the depot: %s\n", d)
	}
	if withoutPackages {
		list.Files = slices.DeleteFunc(list.Files, func(f artifacts.File) bool { return strings.HasPrefix(f.Path, protocol.PackageFolder("")) })
	}
	return list, err
}
