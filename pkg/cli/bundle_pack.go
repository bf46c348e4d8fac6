package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/bundle"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// packing adds the flags of create and export.
func (o *bundleOptions) packing(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&o.lists, "list", nil, "file with a list of artifacts to pack, in JSON; -: stdin")
	cmd.Flags().StringVar(&o.output, "to", "", "file to write")
	wasOutput(cmd, &o.output)
	cmd.Flags().StringVar(&o.split, "split", "", "write parts of at most this size, such as 2GiB: FILE.000, FILE.001 ..., and FILE.parts.json")
	cmd.Flags().StringSliceVar(&o.platforms, "platform", nil, "platform, such as linux/amd64, to pack if an image is for several platforms (default all, which keeps upstream's digests)")
	o.packages.add(cmd)
}

// wasOutput lets the name --output of --to work for one more release, with a notice.
func wasOutput(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVarP(to, "output", "o", "", "")
	_ = cmd.Flags().MarkDeprecated("output", "use --to for a file") // cannot fail: the flag is there
}

// form describes how the bundle is written.
type form struct {
	output    string
	limit     int64 // maximum size of a part in bytes; 0: one file
	platforms []v1.Platform
}

func (o bundleOptions) form() (f form, err error) {
	f.output = o.output
	if o.output == "" {
		return f, usageError(errors.New("--to is missing: name the file to write"))
	}
	if f.limit, err = size(o.split); err != nil {
		return f, err
	}
	f.platforms, err = parsePlatforms(o.platforms)
	return f, err
}

// pack writes the complete bundle, or no file.
func (s *session) pack(ctx context.Context, f form, list artifacts.List, from transfer.Source) error {
	out := bundle.NewOutput(f.output, f.limit)
	defer out.Discard()
	if err := bundle.Create(ctx, list, from, out, bundle.CreateOptions{Platforms: f.platforms, Log: s.ErrOut}); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	_, err := fmt.Fprintf(s.Out, "wrote %s\n", strings.Join(out.Files(), " "))
	return err
}

// size parses a number of bytes such as 2GiB or 700M.
func size(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(strings.TrimSuffix(text, "B"))
	if err != nil || q.Value() < 1<<10 {
		return 0, usageError(fmt.Errorf("--split %q is not a size of at least 1 KiB, such as 2GiB", text))
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
