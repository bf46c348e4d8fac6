package software

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

const formatTar = "tar"

// managers are the formats of the package managers.
var managers = map[string]string{"apt": "deb", "dnf": "rpm"}

// choose returns the file of a package that fits a node; nil: the package has no files, so it comes from the
// package sources.
func choose(p contract.Software, s Seen) (*contract.SoftwareFile, error) {
	if len(p.Files) == 0 {
		return nil, nil
	}
	for _, format := range []string{managers[s.Manager], formatTar} {
		for i, f := range p.Files {
			if f.Format == format && fits(f.Architecture, s.Architecture) {
				return &p.Files[i], nil
			}
		}
	}
	var have []string
	for _, f := range p.Files {
		have = append(have, strings.TrimSpace(f.Format+" "+f.Architecture))
	}
	slices.Sort(have)
	system := map[string]string{"apt": "installs deb packages", "dnf": "installs rpm packages"}[s.Manager]
	return nil, fmt.Errorf("the depot has %s %s only as %s, and the node (%s) %s. Upload a deb, rpm or tar package that fits the node",
		p.Name, p.Version, strings.Join(slices.Compact(have), ", "), s.Architecture, cmp.Or(system, "has neither apt nor dnf, so it installs only tar packages"))
}

// formatOf returns the format in which a node gets or has a package. Without a file, an installed tar package stays
// what it is, and everything else is of the package manager.
func formatOf(file *contract.SoftwareFile, s Seen, p SeenPackage) string {
	switch {
	case file != nil:
		return file.Format
	case p.Tar != nil:
		return formatTar
	}
	return managers[s.Manager]
}

func fits(file, node string) bool {
	return file == "" || file == "all" || file == "noarch" || contract.Architecture(file) == contract.Architecture(node)
}

// missing returns the message about a package without a file that the package sources do not have; empty:
// they have it.
func missing(p contract.Software, s Seen, c change) string {
	if c.file != nil {
		return ""
	}
	switch {
	case s.Manager == "":
		return fmt.Sprintf("package %s is not in the depot, and the node has neither apt nor dnf. Upload it to the depot as a tar package", p.Name)
	case c.want == "" || p.Version == "" && c.seen.Candidate == "":
		return fmt.Sprintf("package %s does not exist: no upload in the depot has this name, and neither do the node's package sources. "+
			"Upload it, add it to the depot's apt source, or correct the Software", p.Name)
	case p.Version != "" && !slices.Contains(c.seen.Versions, p.Version):
		return fmt.Sprintf("version %s of package %s does not exist: no upload in the depot has it, and the node's package sources have %s. "+
			"Upload it, or correct the version in the Software", p.Version, p.Name, someOf(c.seen.Versions))
	case !packageVersion.MatchString(c.want): // by the node's word
		return fmt.Sprintf("the node's package sources have package %s in version %q, which is none", p.Name, c.want)
	}
	return ""
}

func someOf(versions []string) string {
	if len(versions) == 0 {
		return "no version of it"
	}
	const most = 5
	text := strings.Join(versions[:min(len(versions), most)], ", ")
	if len(versions) > most {
		text += fmt.Sprintf(" and %d more", len(versions)-most)
	}
	return "only " + text
}
