package apt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Control holds the control fields of a package.
type Control struct {
	Package      string `json:"package"`
	Version      string `json:"version"`
	Architecture string `json:"architecture"`
	// Text has the fields as they are in the package, without the fields that an index adds. It is
	// bytes because old packages are not all in UTF-8.
	Text []byte `json:"text"`
}

// String returns "package version architecture". It is equal for packages that dpkg cannot
// distinguish.
func (c Control) String() string {
	return fmt.Sprintf("%s %s %s", c.Package, c.Version, c.Architecture)
}

// stanza returns the package's entry in an index.
func (c Control) stanza(filename string, size int64, sha256 string) string {
	return fmt.Sprintf("%sFilename: %s\nSize: %d\nSHA256: %s\n\n", c.Text, filename, size, sha256)
}

var (
	fieldName = regexp.MustCompile(`^[!-9;-~]+$`)
	// added lists the fields that the index adds. parseControl drops the package's own fields of
	// these names, because they could contradict the real path, size and checksum.
	added = []string{"filename", "size", "md5sum", "sha1", "sha256", "sha512"}
	// needed lists the fields that identify a package, with the values that they may have.
	needed = map[string]*regexp.Regexp{
		"package":      regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]*$`),
		"version":      regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+~:-]*$`),
		"architecture": regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`),
	}
)

// parseControl parses exactly one paragraph (deb-control(5)). It refuses a second paragraph, which
// would become an entry of its own in the index.
func parseControl(text string) (Control, error) {
	if strings.ContainsAny(text, "\r\x00") {
		return Control{}, malformed("its control file has a character that is not allowed there (CR or NUL)")
	}
	values := map[string]string{}
	var kept strings.Builder
	current := ""
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		if strings.TrimSpace(line) == "" {
			return Control{}, malformed("its control file is empty or has more than one paragraph")
		}
		if line[0] != ' ' && line[0] != '\t' {
			name, value, ok := strings.Cut(line, ":")
			current = strings.ToLower(name)
			if _, twice := values[current]; !ok || twice || !fieldName.MatchString(name) || strings.HasPrefix(name, "#") {
				return Control{}, malformed("its control file has a line that is not a field, or a second field of the same name: %.80q", line)
			}
			values[current] = strings.TrimSpace(value)
		} else if needed[current] != nil || current == "" {
			return Control{}, malformed("its control file has an indented line that continues nothing: %.80q", line)
		}
		if !slices.Contains(added, current) {
			kept.WriteString(line + "\n")
		}
	}
	for _, name := range []string{"package", "version", "architecture"} {
		if !needed[name].MatchString(values[name]) {
			return Control{}, malformed("its control file has no valid %s: %.80q", name, values[name])
		}
	}
	return Control{values["package"], values["version"], values["architecture"], []byte(kept.String())}, nil
}
