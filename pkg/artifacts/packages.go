package artifacts

import (
	"bufio"
	"io"
	"strings"
)

// PackageIndex is where a depot that holds OS packages lists them, below /files: the index of a flat Debian repository, which nodes use as
// "deb [trusted=yes] http://DEPOT/files/apt ./" and dpkg-scanpackages makes.
const PackageIndex = "apt/Packages"

// ParsePackages reads such an index: versions by package. It is never nil.
func ParsePackages(index io.Reader) (map[string][]string, error) {
	found := map[string][]string{}
	var name, version string
	add := func() {
		if name != "" {
			found[name] = append(found[name], version)
		}
		name, version = "", ""
	}
	lines := bufio.NewScanner(index)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch key, value, _ := strings.Cut(lines.Text(), ":"); {
		case lines.Text() == "":
			add()
		case key == "Package":
			name = strings.TrimSpace(value)
		case key == "Version":
			version = strings.TrimSpace(value)
		}
	}
	add()
	return found, lines.Err()
}
