package debian

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"pault.ag/go/debian/version"
)

// maxLine is the maximum length of a line of an index in bytes.
const maxLine = 4 << 20

// eachPackage reads an index (a Packages file) and calls do for each stanza. do must not use fields
// after it returns.
func eachPackage(index io.Reader, do func(fields map[string]string) error) error {
	fields := map[string]string{}
	lines := bufio.NewScanner(index)
	lines.Buffer(nil, maxLine)
	for more := true; more; {
		more = lines.Scan()
		text := lines.Text()
		switch key, value, ok := strings.Cut(text, ":"); {
		case !more || text == "":
			if fields["Package"] != "" {
				if err := do(fields); err != nil {
					return err
				}
			}
			clear(fields)
		case ok && !strings.HasPrefix(text, " "): // folded lines are descriptions, which are not used
			fields[key] = strings.TrimSpace(value)
		}
	}
	return lines.Err()
}

// isEssential reports whether every installation has the package. debootstrap's minimal base starts
// with these packages.
func isEssential(fields map[string]string) bool {
	return fields["Essential"] == "yes" || fields["Priority"] == "required" || fields["Package"] == "apt"
}

// provided returns the names that a package provides, from its field Provides.
func provided(fields map[string]string) (names []string) {
	for _, p := range strings.Split(fields["Provides"], ",") {
		if words := strings.Fields(p); len(words) > 0 {
			names = append(names, words[0])
		}
	}
	return names
}

var planned = regexp.MustCompile(`(?m)^Inst ([^ :]+)(?::[^ ]+)? `)

// plannedNames returns the names of the packages that a simulation would install.
func plannedNames(simulation string) (names []string) {
	for _, m := range planned.FindAllStringSubmatch(simulation, -1) {
		names = append(names, m[1])
	}
	return names
}

// baseline holds the packages of a minimal installation, which the nodes have already. It maps the
// name of a package to its fields. apt's status file is made from it.
type baseline map[string]map[string]string

// add adds a stanza to the baseline. Of several versions it keeps the lowest, because a node may
// have that one.
func (b baseline) add(fields map[string]string) error {
	is, err := version.Parse(fields["Version"])
	if err != nil {
		return fmt.Errorf("package %s: version %q: %w", fields["Package"], fields["Version"], err)
	}
	if before, twice := b[fields["Package"]]; twice {
		was, err := version.Parse(before["Version"])
		if err != nil || version.Compare(was, is) <= 0 {
			return err
		}
	}
	kept := map[string]string{}
	for _, key := range []string{"Package", "Architecture", "Version", "Multi-Arch", "Provides"} {
		if fields[key] != "" {
			kept[key] = fields[key]
		}
	}
	b[fields["Package"]] = kept
	return nil
}

// status returns the text of a dpkg status file with the packages of the baseline.
//
// The versions on the nodes are unknown. The file therefore gives each package a version a bit
// lower than the oldest version in the sources. For example, "1.2~" satisfies ">= 1.1" but neither
// "= 1.2" nor ">= 1.2". If another package has one of these two dependencies, apt-get fetches
// version 1.2 for the bundle.
//
// The file contains no dependencies of the packages in the baseline. On the nodes these
// dependencies are satisfied, but with the lowered versions apt could find some of them
// unsatisfied.
func (b baseline) status() string {
	var text strings.Builder
	var names []string
	for name := range b {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := b[name]
		fmt.Fprintf(&text, "Package: %s\nStatus: install ok installed\nMaintainer: none\nArchitecture: %s\nVersion: %s~\n", name, f["Architecture"], f["Version"])
		for _, key := range []string{"Multi-Arch", "Provides"} {
			if f[key] != "" {
				fmt.Fprintf(&text, "%s: %s\n", key, f[key])
			}
		}
		fmt.Fprint(&text, "Description: on the nodes already\n\n")
	}
	return text.String()
}
