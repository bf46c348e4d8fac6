package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/bundle"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

type bundleOptions struct {
	lists, images, files, platforms []string
	output, split                   string
	packages                        packageOptions
	depot                           depotFlags
}

func newBundleCreate(s *session) *cobra.Command {
	var o bundleOptions
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Pack images, files and OS packages into a bundle",
		Long: `Pack images, files and OS packages into a bundle. They come from upstream or from
another site's depot (--from-depot). Files can also come from this machine's disk.

The task seed-registry prints a list if artifacts are missing. "inspect -o json"
prints the list of a bundle. For registries that require a login, the command uses
the credentials of docker's configuration.

OS packages are those of Debian or Ubuntu. This machine's apt-get finds their
dependencies, except packages that every installation has, and verifies them with
the distribution's keys. It needs no root, and neither reads nor changes this
machine's own packages. Without --apt-source the packages are for the system that
this machine runs; make another bundle for each other system. The architectures
are those of --platform, or else those of the list, or else this machine's.`,
		Example: `  kubectl bpa bundle create --list missing.json --to missing.tar
  kubectl bpa bundle create --image docker.io/library/nginx:1.28 --file ./tool=tools/v1/tool --to extra.tar
  kubectl bpa bundle create --list k8s-1.35.json --platform linux/amd64 --split 2GiB --to k8s.tar
  kubectl bpa bundle create --list missing.json --system debian-12 --package chrony --to missing.tar
  kubectl bpa bundle create --package chrony --system ubuntu-24.04 --to time.tar \
    --apt-source 'deb http://archive.ubuntu.com/ubuntu noble main universe' \
    --apt-source 'deb http://archive.ubuntu.com/ubuntu noble-updates main universe'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return interrupted(cmd.Context(), s.createBundle(cmd.Context(), o))
		},
	}
	o.packing(cmd)
	cmd.Flags().StringSliceVar(&o.images, "image", nil, "image to pack, such as docker.io/library/nginx:1.28")
	cmd.Flags().StringSliceVar(&o.files, "file", nil, "file on this machine to pack, as FILE=PATH; PATH is the path below /files in the depot")
	o.packages.addSources(cmd)
	o.depot.add(cmd, "from-depot", "URL of the depot to read everything from, instead of upstream")
	return cmd
}

func (s *session) createBundle(ctx context.Context, o bundleOptions) error {
	if err := o.packages.check(o.depot.url != ""); err != nil {
		return err
	}
	list, disk, err := o.wanted(s.In)
	if err != nil {
		return err
	}
	packages, err := o.packages.take(&list, s.ErrOut)
	if err != nil {
		return err
	}
	if list.Size()+len(packages) == 0 {
		return usageError(errors.New("nothing to pack: name artifacts with --list, --image, --file or --package"))
	}
	form, err := o.form()
	if err != nil {
		return err
	}
	if o.depot.url != "" {
		return s.createFromDepot(ctx, o, form, list, packages, disk)
	}
	from, err := transfer.NewUpstream(nil)
	if err != nil {
		return err
	}
	if len(packages) > 0 {
		dir, remove, err := scratch()
		if err != nil {
			return err
		}
		defer remove()
		debs, where, err := s.fetchPackages(ctx, o.packages, form, packages, dir)
		if err != nil {
			return err
		}
		maps.Copy(disk, where)
		if list, err = artifacts.Merge(list, debs); err != nil {
			return err
		}
	}
	return s.pack(ctx, form, list, bundle.WithLocal(from, disk))
}

func (s *session) createFromDepot(ctx context.Context, o bundleOptions, form form, list artifacts.List, packages []artifacts.Package, disk map[string]string) error {
	depot, err := o.depot.connect(ctx, "from-depot")
	if err != nil {
		return err
	}
	debs, err := heldPackages(ctx, depot, artifacts.List{Packages: packages}.Systems(), form, packages)
	if err != nil {
		return err
	}
	if list, err = artifacts.Merge(list, debs); err != nil {
		return err
	}
	return s.pack(ctx, form, list, bundle.WithLocal(transfer.FromDepot(depot), disk))
}

// wanted returns the artifacts that the flags name. The map has an entry for each file that --file
// names. The key is the path of the file in the depot, and the value is its path on this machine.
func (o bundleOptions) wanted(stdin io.Reader) (artifacts.List, map[string]string, error) {
	var lists []artifacts.List
	for _, name := range o.lists {
		list, err := readList(name, stdin)
		if err != nil {
			return artifacts.List{}, nil, err
		}
		lists = append(lists, list)
	}
	more := artifacts.List{Packages: o.packages.parse()}
	for _, ref := range o.images {
		more.Images = append(more.Images, artifacts.Image{Ref: ref})
	}
	disk := map[string]string{}
	for _, f := range o.files {
		name, path, ok := strings.Cut(f, "=")
		if !ok {
			return artifacts.List{}, nil, usageError(fmt.Errorf("--file %q is not like FILE=PATH", f))
		}
		disk[path] = name
		more.Files = append(more.Files, artifacts.File{Path: path})
	}
	all, err := artifacts.Merge(append(lists, more)...)
	return all, disk, err
}

func readList(name string, stdin io.Reader) (artifacts.List, error) {
	in := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return artifacts.List{}, fmt.Errorf("--list: %w", err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, artifacts.MaxList+1))
	if err != nil {
		return artifacts.List{}, fmt.Errorf("--list %s: %w", name, err)
	}
	list, err := artifacts.Parse(text)
	if err != nil {
		return artifacts.List{}, fmt.Errorf("--list %s: %w", name, err)
	}
	return list, nil
}
