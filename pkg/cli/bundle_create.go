package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/artifacts/carry"
	"github.com/akraino-icn/bpa/pkg/bundle"
)

type bundleOptions struct {
	lists, images, files, platforms []string
	output, split                   string
	depot                           depotFlags
}

func newBundleCreate(s *session) *cobra.Command {
	var o bundleOptions
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Pack images and files into a bundle",
		Long: `Pack images and files into a bundle: from upstream, from another site's depot
(--from-depot), files also from this machine's disk.

A list is what the task seed-registry prints when something is missing, and what
"inspect -o json" prints. Registries that want a login are given what docker's
configuration has for them.`,
		Example: `  kubectl bpa bundle create --list missing.json --output missing.tar
  kubectl bpa bundle create --image docker.io/library/nginx:1.28 --file ./tool=tools/v1/tool --output extra.tar
  kubectl bpa bundle create --list k8s-1.35.json --platform linux/amd64 --split 2GiB --output k8s.tar`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return interrupted(cmd.Context(), s.createBundle(cmd.Context(), o))
		},
	}
	o.packing(cmd)
	cmd.Flags().StringSliceVar(&o.images, "image", nil, "image to pack, such as docker.io/library/nginx:1.28")
	cmd.Flags().StringSliceVar(&o.files, "file", nil, "file of this machine to pack, as FILE=PATH, where PATH is the one below /files in the depot")
	o.depot.add(cmd, "from-depot", "take everything from this depot and nothing from upstream")
	return cmd
}

func newBundleExport(s *session) *cobra.Command {
	var o bundleOptions
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Pack what a depot has into a bundle",
		Long: `Pack what a depot has into a bundle: everything, or what is on a list. Imported
elsewhere it has the same place and the same digests there.`,
		Example: `  kubectl bpa bundle export --depot http://10.60.0.1:5000 --output site.tar --split 4GiB`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return interrupted(cmd.Context(), s.exportBundle(cmd.Context(), o))
		},
	}
	o.packing(cmd)
	o.depot.add(cmd, "depot", "the depot")
	return cmd
}

// packing are the flags of both.
func (o *bundleOptions) packing(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&o.lists, "list", nil, "file with a list of what to pack, JSON; - is stdin")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "file to write")
	cmd.Flags().StringVar(&o.split, "split", "", "write parts of at most this size, such as 2GiB: FILE.000, FILE.001 ..., and FILE.parts.json")
	cmd.Flags().StringSliceVar(&o.platforms, "platform", nil, "what to take of images for several platforms, such as linux/amd64 (default all, which keeps upstream's digests)")
}

func (s *session) createBundle(ctx context.Context, o bundleOptions) error {
	list, disk, err := o.wanted(s.In)
	if err != nil {
		return err
	}
	if list.Size() == 0 {
		return usageError(errors.New("nothing to pack: name it with --list, --image or --file"))
	}
	from, err := o.source(ctx)
	if err != nil {
		return err
	}
	return s.pack(ctx, o, list, bundle.WithLocal(from, disk))
}

func (o bundleOptions) source(ctx context.Context) (carry.Source, error) {
	if o.depot.url == "" {
		return carry.NewUpstream(nil)
	}
	depot, err := o.depot.connect(ctx, "from-depot")
	if err != nil {
		return nil, err
	}
	return carry.FromDepot(depot), nil
}

func (s *session) exportBundle(ctx context.Context, o bundleOptions) error {
	list, _, err := o.wanted(s.In)
	if err != nil {
		return err
	}
	depot, err := o.depot.connect(ctx, "depot")
	if err != nil {
		return err
	}
	if len(o.lists) == 0 {
		if list, err = depot.Everything(ctx); err != nil {
			return err
		}
	}
	return s.pack(ctx, o, list, carry.FromDepot(depot))
}

// pack writes the bundle, whole or not at all.
func (s *session) pack(ctx context.Context, o bundleOptions, list artifacts.List, from carry.Source) error {
	if o.output == "" {
		return usageError(errors.New("--output is missing: the file to write"))
	}
	limit, err := size(o.split)
	if err != nil {
		return err
	}
	platforms, err := parsePlatforms(o.platforms)
	if err != nil {
		return err
	}
	if len(list.Packages) > 0 {
		_, _ = fmt.Fprintf(s.ErrOut, "%d packages of the list are not packed: put them into the site's package source\n", len(list.Packages))
	}
	out := bundle.NewOutput(o.output, limit)
	defer out.Discard()
	if err := bundle.Create(ctx, list, from, out, bundle.CreateOptions{Platforms: platforms, Log: s.ErrOut}); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	_, err = fmt.Fprintf(s.Out, "wrote %s\n", strings.Join(out.Files(), " "))
	return err
}

// wanted is what the flags name, and the files among it that are on this machine.
func (o bundleOptions) wanted(stdin io.Reader) (artifacts.List, map[string]string, error) {
	var lists []artifacts.List
	for _, name := range o.lists {
		list, err := readList(name, stdin)
		if err != nil {
			return artifacts.List{}, nil, err
		}
		lists = append(lists, list)
	}
	var more artifacts.List
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

// size reads a number of bytes such as 2GiB or 700M.
func size(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(strings.TrimSuffix(text, "B"))
	if err != nil || q.Value() < 1<<10 {
		return 0, usageError(fmt.Errorf("--split %q is no size such as 2GiB, of at least 1 KiB", text))
	}
	return q.Value(), nil
}

func parsePlatforms(texts []string) (all []v1.Platform, err error) {
	for _, text := range texts {
		p, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, usageError(fmt.Errorf("--platform %q: %w", text, err))
		}
		all = append(all, *p)
	}
	return all, nil
}
