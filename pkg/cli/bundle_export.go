package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/artifacts/carry"
	"github.com/akraino-icn/bpa/pkg/artifacts/doors"
	"github.com/akraino-icn/bpa/pkg/bundle/debian"
)

func newBundleExport(s *session) *cobra.Command {
	var o bundleOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Pack what a depot has into a bundle",
		Long: `Pack what a depot has into a bundle: everything, or what is on a list. Imported
elsewhere it has the same place and the same digests there.

With --system, the OS packages on the list come with what they depend on, as far as
the depot has that; if there are none on it, all that the depot has for the system.`,
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
	switch {
	case len(o.lists) == 0 && o.packages.system == "":
		list, err = everything(ctx, depot, o.packages.without)
	case o.packages.system != "" && !o.packages.without:
		var debs artifacts.List
		if debs, err = heldPackages(ctx, depot, o, packages); err == nil {
			list, err = artifacts.Merge(list, debs)
		}
	}
	if err != nil {
		return err
	}
	return s.pack(ctx, form, list, carry.FromDepot(depot))
}

// everything is what a depot has.
func everything(ctx context.Context, depot *doors.Depot, withoutPackages bool) (artifacts.List, error) {
	list, err := depot.Everything(ctx)
	if withoutPackages {
		list.Files = slices.DeleteFunc(list.Files, func(f artifacts.File) bool { return strings.HasPrefix(f.Path, debian.Folder+"/") })
	}
	return list, err
}
