package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/artifacts/doors"
	"github.com/akraino-icn/bpa/pkg/bundle/debian"
)

// packageOptions say which OS packages are packed, and from where.
type packageOptions struct {
	system   string
	names    []string
	without  bool
	sources  []string
	keyring  string
	withBase bool
}

func (o *packageOptions) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.system, "system", "", "what the nodes run, ID and VERSION_ID of os-release such as ubuntu-24.04: their packages go to apt/SYSTEM in the depot")
	cmd.Flags().StringSliceVar(&o.names, "package", nil, "OS package to pack with what it depends on, as NAME or NAME=VERSION")
	cmd.Flags().BoolVar(&o.without, "without-packages", false, "leave OS packages out")
}

func (o *packageOptions) addSources(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.sources, "apt-source", nil, "where packages come from, a line as in sources.list (default this machine's sources, if it runs the same system)")
	cmd.Flags().StringVar(&o.keyring, "keyring", "", "file with the keys that sign the sources (default the distribution's)")
	cmd.Flags().BoolVar(&o.withBase, "with-base", false, "pack everything that packages depend on, also what every installation has")
}

// parse reads --package.
func (o packageOptions) parse() (all []artifacts.Package) {
	for _, text := range o.names {
		name, version, _ := strings.Cut(text, "=")
		all = append(all, artifacts.Package{Name: name, Version: version})
	}
	return all
}

// take takes the packages off the list, unless there are to be none. What they become are files.
func (o packageOptions) take(list *artifacts.List, log io.Writer) ([]artifacts.Package, error) {
	wanted := list.Packages
	list.Packages = nil
	if o.system != "" {
		if err := debian.CheckSystem(o.system); err != nil {
			return nil, usageError(fmt.Errorf("--%w", err))
		}
	}
	switch {
	case o.without && len(wanted) > 0:
		_, _ = fmt.Fprintf(log, "%d OS packages are left out\n", len(wanted))
		return nil, nil
	case len(wanted) > 0 && o.system == "":
		return nil, usageError(fmt.Errorf("--system is missing: there are %d OS packages to pack, such as %s: say what the nodes run, such as ubuntu-24.04, or --without-packages",
			len(wanted), wanted[0].Name))
	}
	return wanted, nil
}

// check finds flags that do nothing together.
func (o packageOptions) check(fromDepot bool) error {
	switch {
	case o.keyring != "" && len(o.sources) == 0:
		return usageError(errors.New("--keyring is for sources that are named with --apt-source; this machine's own say who signs them"))
	case fromDepot && (len(o.sources) > 0 || o.withBase):
		return usageError(errors.New("--apt-source and --with-base have no meaning with --from-depot, which takes packages from the depot"))
	}
	return nil
}

// architectures are Debian's names of the platforms; of none: nil.
func debianArchitectures(platforms []v1.Platform) (names []string, err error) {
	for _, p := range platforms {
		name, err := debian.Architecture(p)
		if err != nil {
			return nil, usageError(err)
		}
		names = append(names, name)
	}
	return names, nil
}

// fetchPackages brings the packages from the distribution's archive into a folder, and puts their files on the list and on the disk's.
func (s *session) fetchPackages(ctx context.Context, o bundleOptions, wanted []artifacts.Package, dir string, disk map[string]string) (artifacts.List, error) {
	var list artifacts.List
	platforms, err := parsePlatforms(o.platforms)
	if err != nil {
		return list, err
	}
	if len(platforms) == 0 {
		platforms = []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}}
	}
	architectures, err := debianArchitectures(platforms)
	if err != nil {
		return list, err
	}
	for _, architecture := range architectures {
		debs, err := debian.Fetch(ctx, filepath.Join(dir, architecture), debian.Wish{
			System: o.packages.system, Architecture: architecture, Packages: wanted,
			Sources: o.packages.sources, Keyring: o.packages.keyring, WithBase: o.packages.withBase, Log: s.ErrOut,
		})
		if errors.Is(err, debian.ErrNoSources) {
			err = usageError(err)
		}
		if err != nil {
			return list, err
		}
		for _, deb := range debs {
			list.Files = append(list.Files, deb.File)
			disk[deb.Path] = deb.Disk
		}
	}
	return list, nil
}

// heldPackages are the files of the packages that a depot has, with what they depend on; all if none is wanted.
func heldPackages(ctx context.Context, depot *doors.Depot, o bundleOptions, wanted []artifacts.Package) (artifacts.List, error) {
	platforms, err := parsePlatforms(o.platforms)
	if err != nil {
		return artifacts.List{}, err
	}
	architectures, err := debianArchitectures(platforms)
	if err != nil {
		return artifacts.List{}, err
	}
	index := debian.Folder + "/" + o.packages.system + "/Packages"
	if _, there, err := depot.FileState(ctx, index, false); err != nil || !there {
		return artifacts.List{}, errors.Join(err, fmt.Errorf("the depot %s holds no packages for %s: it has no /files/%s", depot.URL(), o.packages.system, index))
	}
	body, _, err := depot.GetFile(ctx, index)
	if err != nil {
		return artifacts.List{}, err
	}
	defer body.Close()
	files, err := debian.Select(body, o.packages.system, wanted, architectures)
	if err != nil {
		return artifacts.List{}, fmt.Errorf("%s/files/%s: %w", depot.URL(), index, err)
	}
	return artifacts.List{Files: files}, nil
}

// scratch is a folder for what is packed in a moment. Whoever makes it removes it.
func scratch() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "bundle-*")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
