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
		Short: "Pack what a depot has into a bundle",
		Long: `Pack what a depot has into a bundle: everything, or what is on a list. Imported
elsewhere it has the same place and the same digests there.

OS packages on the list come with what they depend on, as far as the depot has that.
With --system and none on the list for it, all that the depot has for the system.`,
		Example: `  kubectl bpa bundle export --depot http://10.60.0.1:5000 --output site.tar --split 4GiB
  kubectl bpa bundle export --depot http://10.60.0.1:5000 --system debian-12 --output packages.tar`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return interrupted(cmd.Context(), s.exportBundle(cmd.Context(), o))
		},
	}
	o.packing(cmd)
	o.depot.add(cmd, "depot", "the depot")
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

// listed is what was asked for, and the packages with what they depend on.
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

// everything is what a depot has. What it cannot read any more is told and left out: a bundle of the rest is better than none.
func (s *session) everything(ctx context.Context, depot *client.Depot, withoutPackages bool) (artifacts.List, error) {
	list, damaged, err := depot.Everything(ctx)
	for _, d := range damaged {
		fmt.Fprintf(s.ErrOut, "warning: not in the bundle, since it is damaged in the depot: %s\n", d)
	}
	if withoutPackages {
		list.Files = slices.DeleteFunc(list.Files, func(f artifacts.File) bool { return strings.HasPrefix(f.Path, protocol.PackageFolder("")) })
	}
	return list, err
}
