package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/bundle/debian"
	"github.com/akraino-icn/bpa/pkg/depot/client"
)

// packageOptions holds the flags for OS packages and their sources.
type packageOptions struct {
	systems  []string
	names    []string
	without  bool
	sources  []string
	keyring  string
	withBase bool
}

// add adds the flags of create and export.
func (o *packageOptions) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&o.systems, "system", nil, "operating system of the nodes, ID-VERSION_ID of os-release, such as ubuntu-24.04; its packages go to apt/SYSTEM in the depot")
	cmd.Flags().StringSliceVar(&o.names, "package", nil, "OS package to pack with its dependencies, as NAME or NAME=VERSION")
	cmd.Flags().BoolVar(&o.without, "without-packages", false, "leave OS packages out")
}

// addSources adds the flags of create.
func (o *packageOptions) addSources(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.sources, "apt-source", nil, "source of packages, a line as in sources.list (default this machine's sources, if it runs the same system)")
	cmd.Flags().StringVar(&o.keyring, "keyring", "", "file with the keys that sign the sources (default the distribution's)")
	cmd.Flags().BoolVar(&o.withBase, "with-base", false, "also pack dependencies that every installation has")
}

// parse reads --package.
func (o packageOptions) parse() (all []artifacts.Package) {
	for _, text := range o.names {
		name, version, _ := strings.Cut(text, "=")
		all = append(all, artifacts.Package{Name: name, Version: version})
	}
	return all
}

// take removes the OS packages from the list, because a bundle contains them as files. It returns
// the packages to pack, each with its operating system. With --system it leaves out packages of
// other systems. With --without-packages it returns no packages.
func (o packageOptions) take(list *artifacts.List, log io.Writer) (wanted []artifacts.Package, err error) {
	all := list.Packages
	list.Packages = nil
	for _, system := range o.systems {
		if err := debian.CheckSystem(system); err != nil {
			return nil, usageError(fmt.Errorf("--%w", err))
		}
	}
	for _, p := range all {
		switch {
		case o.without, p.System != "" && len(o.systems) > 0 && !slices.Contains(o.systems, p.System):
		case p.System != "":
			wanted = append(wanted, p)
		case len(o.systems) == 0:
			return nil, usageError(fmt.Errorf("--system is missing: the package %s has no system; give the operating system of the nodes, such as ubuntu-24.04, or leave packages out with --without-packages", p))
		default:
			for _, p.System = range o.systems {
				wanted = append(wanted, p)
			}
		}
	}
	if len(wanted) < len(all) {
		_, _ = fmt.Fprintf(log, "%d OS packages are left out\n", len(all)-len(wanted))
	}
	return wanted, nil
}

// check returns an error for a flag that has no effect with the other flags.
func (o packageOptions) check(fromDepot bool) error {
	switch {
	case o.keyring != "" && len(o.sources) == 0:
		return usageError(errors.New("--keyring needs --apt-source: this machine's own sources have their keys already"))
	case fromDepot && (len(o.sources) > 0 || o.withBase):
		return usageError(errors.New("--apt-source and --with-base cannot be used with --from-depot: the packages come from the depot"))
	}
	return nil
}

// architectures returns Debian's names of the architectures of the platforms. Without platforms it
// returns nil.
func architectures(platforms []v1.Platform) (names []string, err error) {
	for _, p := range platforms {
		name, err := debian.Architecture(p)
		if err != nil {
			return nil, usageError(err)
		}
		names = append(names, name)
	}
	return names, nil
}

// nodesOf returns the architectures for which packages are fetched. With --platform, these are the
// architectures of the platforms. Without the flag, they are the architectures of the wanted
// packages. If no wanted package has an architecture, nodesOf returns this machine's architecture.
func nodesOf(wanted []artifacts.Package, platforms []v1.Platform) ([]string, error) {
	var listed []string
	for _, p := range wanted {
		if p.Architecture != "" && p.Architecture != "all" {
			listed = append(listed, p.Architecture)
		}
	}
	if len(platforms) == 0 && len(listed) > 0 {
		slices.Sort(listed)
		return slices.Compact(listed), nil
	}
	if len(platforms) == 0 {
		platforms = []v1.Platform{{OS: "linux", Architecture: runtime.GOARCH}}
	}
	return architectures(platforms)
}

// fetchPackages fetches the packages from the archives of the distributions into the folder dir. It
// returns a list of the files by their paths in the depot. disk maps the path of each file in the
// depot to its path on this machine.
func (s *session) fetchPackages(ctx context.Context, o packageOptions, f form, wanted []artifacts.Package, dir string) (list artifacts.List, disk map[string]string, err error) {
	systems := artifacts.List{Packages: wanted}.Systems()
	if len(systems) > 1 && len(o.sources) > 0 {
		return list, nil, usageError(fmt.Errorf("--apt-source is for one system, but the packages are for %s: make a bundle for each system with --system", strings.Join(systems, ", ")))
	}
	disk = map[string]string{}
	for _, system := range systems {
		ofSystem := slices.DeleteFunc(slices.Clone(wanted), func(p artifacts.Package) bool { return p.System != system })
		nodes, err := nodesOf(ofSystem, f.platforms)
		if err != nil {
			return list, nil, err
		}
		for _, architecture := range nodes {
			w := debian.Request{System: system, Architecture: architecture, Sources: o.sources, Keyring: o.keyring, WithBase: o.withBase, Log: s.ErrOut}
			w.Packages = slices.DeleteFunc(slices.Clone(ofSystem), func(p artifacts.Package) bool {
				return p.Architecture != "" && p.Architecture != "all" && p.Architecture != architecture
			})
			debs, err := debian.Fetch(ctx, filepath.Join(dir, system, architecture), w)
			if errors.Is(err, debian.ErrNoSources) {
				err = usageError(err)
			}
			if err != nil {
				return list, nil, err
			}
			for _, deb := range debs {
				list.Files = append(list.Files, deb.File)
				disk[deb.Path] = deb.Disk
			}
		}
	}
	return list, disk, nil
}

// heldPackages returns the files in a depot that contain the wanted packages and their
// dependencies. If no package of a system is wanted, it returns the files of all packages of that
// system.
func heldPackages(ctx context.Context, depot *client.Depot, systems []string, f form, wanted []artifacts.Package) (list artifacts.List, err error) {
	nodes, err := architectures(f.platforms)
	if err != nil {
		return list, err
	}
	for _, system := range systems {
		ofSystem := slices.DeleteFunc(slices.Clone(wanted), func(p artifacts.Package) bool { return p.System != system })
		index := artifacts.IndexPath(system)
		_, there, err := depot.FileState(ctx, index, false)
		if err == nil && !there {
			err = fmt.Errorf("the depot %s has no packages for %s: there is no /files/%s", depot.URL(), system, index)
		}
		if err != nil {
			return list, err
		}
		body, _, err := depot.GetFile(ctx, index)
		if err != nil {
			return list, err
		}
		files, err := debian.Select(body, system, ofSystem, nodes)
		body.Close()
		if err != nil {
			return list, fmt.Errorf("%s/files/%s: %w", depot.URL(), index, err)
		}
		list.Files = append(list.Files, files...)
	}
	return list, nil
}

// scratch makes a temporary folder. The caller must call remove.
func scratch() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "bundle-*")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
