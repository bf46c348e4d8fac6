package artifacts

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"

	"pault.ag/go/debian/dependency"
	"pault.ag/go/debian/version"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/digest"
)

// IndexPath returns the path, below /files, of the package index of a system.
func IndexPath(system string) string { return protocol.PackageFolder(system) + "/Packages" }

var (
	packagePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]*$`)
	// systemPattern allows only names of a single folder. It is also the pattern of architectures.
	systemPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

func (p Package) check() error {
	switch {
	case !packagePattern.MatchString(p.Name):
		return fmt.Errorf("package %q: this is not a valid package name", p.Name)
	case strings.ContainsFunc(p.Version, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("package %s: version %q has a space or a character that is not ASCII", p.Name, p.Version)
	case p.System != "" && !systemPattern.MatchString(p.System):
		return fmt.Errorf("package %s: system %q is not like debian-12", p.Name, p.System)
	case p.Architecture != "" && !systemPattern.MatchString(p.Architecture):
		return fmt.Errorf("package %s: architecture %q is not like amd64", p.Name, p.Architecture)
	}
	return nil
}

// DebianPackage is a package in a repository, with the fields that dependency resolution needs.
type DebianPackage struct {
	Name, Version, Architecture string
	// Filename is relative to the repository. SHA256 is the checksum of the depot's copy of the
	// file in hexadecimal. apt installs only a file with this checksum.
	Filename, SHA256 string
	// Depends and PreDepends hold the unparsed fields. They are parsed on demand, because only a
	// few packages of an index are ever resolved.
	Depends, PreDepends string

	provides string
	number   version.Version
}

// PackageIndex is the index of a flat Debian repository.
type PackageIndex struct {
	packages map[string][]*DebianPackage
	provided map[string][]provision
}

// provision is another name that a package provides (field Provides).
type provision struct {
	by      *DebianPackage
	version *version.Version // nil: without a version
}

// maxIndexLine is the maximum length of a line of an index in bytes. Lines can be long because some
// packages provide a thousand names.
const maxIndexLine = 1 << 20

// ParsePackages reads an index. It skips packages that apt would not install: those without a
// version, a file name or a SHA-256.
func ParsePackages(index io.Reader) (*PackageIndex, error) {
	x := &PackageIndex{packages: map[string][]*DebianPackage{}, provided: map[string][]provision{}}
	stanza, key := map[string]string{}, ""
	lines := bufio.NewScanner(index)
	lines.Buffer(nil, maxIndexLine)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.TrimSpace(line) == "":
			x.add(stanza)
			clear(stanza)
			key = ""
		case line[0] == ' ' || line[0] == '\t': // a continuation of the field
			if wantedFields[key] {
				stanza[key] += line
			}
		default:
			name, value, _ := strings.Cut(line, ":")
			if key = strings.ToLower(name); wantedFields[key] {
				stanza[key] = strings.TrimSpace(value)
			}
		}
	}
	x.add(stanza)
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("index of packages: %w", err)
	}
	return x, nil
}

var wantedFields = map[string]bool{
	"package": true, "version": true, "architecture": true, "filename": true, "sha256": true, "depends": true, "pre-depends": true, "provides": true,
}

func (x *PackageIndex) add(stanza map[string]string) {
	number, err := version.Parse(stanza["version"])
	if err != nil || stanza["package"] == "" || stanza["filename"] == "" || !digest.IsSHA256(stanza["sha256"]) {
		return
	}
	p := &DebianPackage{
		Name: stanza["package"], Version: stanza["version"], Architecture: stanza["architecture"], Filename: stanza["filename"], SHA256: stanza["sha256"],
		Depends: stanza["depends"], PreDepends: stanza["pre-depends"], provides: stanza["provides"], number: number,
	}
	x.packages[p.Name] = append(x.packages[p.Name], p)
	for _, r := range relations(p.provides) {
		for _, other := range r.alternatives {
			also := provision{by: p}
			if v := other.Version; v != nil && v.Operator == "=" {
				if number, err := version.Parse(v.Number); err == nil {
					also.version = &number
				}
			}
			x.provided[other.Name] = append(x.provided[other.Name], also)
		}
	}
}

// relation is one dependency of a package, as written in the index and as parsed alternatives.
type relation struct {
	text         string
	alternatives []dependency.Possibility
}

// maxRelation is the maximum length of one relation in bytes. The time of the library's parser
// grows with the square of the length of a name, so longer relations are not parsed.
const maxRelation = 4 << 10

// relations splits a field such as Depends. A relation that cannot be parsed has no alternatives,
// so no package satisfies it.
func relations(field string) []relation {
	var all []relation
	for text := range strings.SplitSeq(field, ",") {
		r := relation{text: strings.Join(strings.Fields(text), " ")}
		if r.text == "" {
			continue
		}
		if len(r.text) <= maxRelation {
			if read, err := dependency.Parse(r.text); err == nil {
				r.alternatives = read.GetAllPossibilities()
			}
		}
		all = append(all, r)
	}
	return all
}
