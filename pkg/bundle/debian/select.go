package debian

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// maxIndex is the maximum size in bytes of the index of a depot's package source. This is enough
// for some hundred thousand packages.
const maxIndex = 256 << 20

// Select returns the files of the wanted packages and of their dependencies, as far as the depot
// has these dependencies. index is the index of the depot's package source. Select finds
// dependencies with PackageIndex.Resolve, as does the check whether a depot is complete. If wanted
// is empty, Select returns the files of all packages. architectures contains Debian's names; if it
// is empty, all architectures in the index are used.
func Select(index io.Reader, system string, wanted []artifacts.Package, architectures []string) ([]artifacts.File, error) {
	text, err := io.ReadAll(io.LimitReader(index, maxIndex))
	if err != nil {
		return nil, err
	}
	var all []artifacts.File
	var has []string // architectures
	err = eachPackage(bytes.NewReader(text), func(fields map[string]string) error {
		if a := fields["Architecture"]; a != "all" && len(architectures) > 0 && !slices.Contains(architectures, a) {
			return nil
		}
		has = append(has, fields["Architecture"])
		file, err := inDepot(system, fields["Filename"], fields["SHA256"])
		all = append(all, file)
		return err
	})
	if err != nil || len(wanted) == 0 {
		return all, err
	}
	packages, err := artifacts.ParsePackages(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	slices.Sort(has)
	return resolve(packages, system, wanted, slices.Compact(has))
}

func resolve(packages *artifacts.PackageIndex, system string, wanted []artifacts.Package, architectures []string) ([]artifacts.File, error) {
	var files []artifacts.File
	var lacks []string
	for _, w := range wanted {
		found := false
		for _, architecture := range architectures {
			p := w
			if p.Architecture == "" {
				p.Architecture = architecture
			}
			held, missing, _ := packages.Resolve([]artifacts.Package{p})
			found = found || len(missing) == 0
			for _, h := range held {
				file, err := inDepot(system, h.Filename, h.SHA256)
				if err != nil {
					return nil, err
				}
				files = append(files, file)
			}
		}
		if !found {
			lacks = append(lacks, w.String())
		}
	}
	if len(lacks) > 0 {
		return nil, fmt.Errorf("the depot has no package %s for %s: remove it from the list, or leave all packages out with --without-packages", strings.Join(lacks, ", "), system)
	}
	return files, nil
}

// inDepot returns a package as a file of the depot. The path is always in the system's folder, even
// if the index has a name with "..".
func inDepot(system, name, sum string) (artifacts.File, error) {
	file := artifacts.File{Path: path.Join(protocol.PackageFolder(system), path.Join("/", name)), SHA256: sum}
	if err := artifacts.CheckPath(file.Path); err != nil {
		return file, fmt.Errorf("%w: rename it in the depot", err)
	}
	return file, nil
}
