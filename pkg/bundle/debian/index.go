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

// maxLine bounds a line of an index, in bytes.
const maxLine = 4 << 20

// eachPackage reads an index, Packages, stanza by stanza. The fields are the callee's only until it returns.
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
		case ok && !strings.HasPrefix(text, " "): // what goes on in a second line is for people
			fields[key] = strings.TrimSpace(value)
		}
	}
	return lines.Err()
}

// isEssential tells what every installation has: what debootstrap calls a minimal base begins with these.
func isEssential(fields map[string]string) bool {
	return fields["Essential"] == "yes" || fields["Priority"] == "required" || fields["Package"] == "apt"
}

// provided are the names in a Provides field.
func provided(fields map[string]string) (names []string) {
	for _, p := range strings.Split(fields["Provides"], ",") {
		if words := strings.Fields(p); len(words) > 0 {
			names = append(names, words[0])
		}
	}
	return names
}

var planned = regexp.MustCompile(`(?m)^Inst ([^ :]+)(?::[^ ]+)? `)

// plannedNames are the packages that a simulation would install.
func plannedNames(simulation string) (names []string) {
	for _, m := range planned.FindAllStringSubmatch(simulation, -1) {
		names = append(names, m[1])
	}
	return names
}

// baseline is the minimal system that nodes have already, as apt's status file is to tell of it.
type baseline map[string]map[string]string

// add takes a stanza that is of the baseline. Of several versions the lowest counts: a node may be as old as that.
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

// status writes a dpkg status file. Nobody knows which versions nodes really have, so each is told as a bit older than the oldest that the
// sources have: "1.2~" satisfies ">= 1.1" but neither "= 1.2" nor ">= 1.2", for which the package then comes along. Nor does it say what
// packages of the baseline depend on: it is whole on the nodes, and would not look so with these versions.
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
		fmt.Fprint(&text, "Description: what nodes have\n\n")
	}
	return text.String()
}
