package debian

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

// entry is a package that a depot has.
type entry struct {
	name, version, architecture string
	file                        artifacts.File
	needs                       []string // names, of alternatives all
}

// Select picks packages out of the index of a depot's package source, with what they depend on as far as the depot has it: all versions and
// all alternatives, so rather too many than too few. Without any wanted it takes all. Architectures are Debian's; none: all.
func Select(index io.Reader, system string, wanted []artifacts.Package, architectures []string) ([]artifacts.File, error) {
	var all []entry
	byName := map[string][]int{}
	err := eachPackage(index, func(fields map[string]string) error {
		e, err := readEntry(system, fields)
		if err != nil {
			return err
		}
		if a := e.architecture; len(architectures) > 0 && a != "all" && !slices.Contains(architectures, a) {
			return nil
		}
		for _, name := range append(provided(fields), e.name) {
			byName[name] = append(byName[name], len(all))
		}
		all = append(all, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var take []int
	if len(wanted) == 0 {
		for i := range all {
			take = append(take, i)
		}
	}
	var lacks []string
	for _, w := range wanted {
		found := slices.DeleteFunc(slices.Clone(byName[w.Name]), func(i int) bool {
			return w.Version != "" && (all[i].version != w.Version || all[i].name != w.Name)
		})
		if len(found) == 0 {
			lacks = append(lacks, strings.TrimSpace(w.Name+" "+w.Version))
		}
		take = append(take, found...)
	}
	if len(lacks) > 0 {
		return nil, fmt.Errorf("the depot has no package %s for %s: take it off the list, or --without-packages", strings.Join(lacks, ", "), system)
	}
	var files []artifacts.File
	taken := map[int]bool{}
	for ; len(take) > 0; take = take[1:] {
		i := take[0]
		if taken[i] {
			continue
		}
		taken[i] = true
		files = append(files, all[i].file)
		for _, name := range all[i].needs {
			take = append(take, byName[name]...)
		}
	}
	return files, nil
}

func readEntry(system string, fields map[string]string) (entry, error) {
	e := entry{name: fields["Package"], version: fields["Version"], architecture: fields["Architecture"]}
	e.needs = append(dependencies(fields["Depends"]), dependencies(fields["Pre-Depends"])...)
	size, err := strconv.ParseInt(fields["Size"], 10, 64)
	if err != nil {
		return e, fmt.Errorf("package %s: size %q", e.name, fields["Size"])
	}
	e.file = artifacts.File{Path: path.Join(Folder, system, path.Join("/", fields["Filename"])), SHA256: fields["SHA256"], Size: size}
	if err := artifacts.CheckPath(e.file.Path); err != nil {
		return e, fmt.Errorf("package %s: %w: rename it in the depot", e.name, err)
	}
	return e, nil
}

// dependencies are the names in a field such as "libc6 (>= 2.36), python3:any | python3.11".
func dependencies(field string) (names []string) {
	for _, alternative := range strings.FieldsFunc(field, func(r rune) bool { return r == ',' || r == '|' }) {
		if words := strings.FieldsFunc(alternative, func(r rune) bool { return strings.ContainsRune(" ([:", r) }); len(words) > 0 {
			names = append(names, words[0])
		}
	}
	return names
}
