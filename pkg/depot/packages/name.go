package packages

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// endings are the endings of the names of packages, the longest first.
var endings = []struct {
	text   string
	format protocol.PackageFormat
}{
	{".tar.zst", protocol.FormatTar},
	{".tar.gz", protocol.FormatTar},
	{".tar.xz", protocol.FormatTar},
	{".tzst", protocol.FormatTar},
	{".tgz", protocol.FormatTar},
	{".txz", protocol.FormatTar},
	{".tar", protocol.FormatTar},
	{".deb", protocol.FormatDeb},
	{".rpm", protocol.FormatRPM},
}

// splitEnding splits the name of an upload into its stem and the format that its ending shows. The
// format is empty if the name has no ending of a package.
func splitEnding(upload string) (stem string, format protocol.PackageFormat) {
	for _, e := range endings {
		if n := len(upload) - len(e.text); n > 0 && strings.EqualFold(upload[n:], e.text) {
			return upload[:n], e.format
		}
	}
	return upload, ""
}

var (
	// Names and versions are those that a Software may have: apt-get removes a package with a dash at its end.
	packageName    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9+._-]{0,98}[A-Za-z0-9+._])?$`)
	packageVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+~:_^-]{0,99}$`)
	// versionInName matches the last dash before a digit, with the version after it.
	versionInName = regexp.MustCompile(`^(.+)-([0-9](?:[^-]|-[^0-9]|-$)*)$`)
)

// tarName returns the name and the version of a tar package. stem is the name of its upload without the
// ending. inside is the version in its file "version"; empty: it has no such file.
func tarName(stem, inside string) (name, of string, err error) {
	name, of = stem, inside
	if m := versionInName.FindStringSubmatch(stem); m != nil {
		name = m[1]
		if of == "" {
			of = m[2]
		}
	}
	if n, ok := strings.CutSuffix(stem, "-"+inside); ok && inside != "" {
		name = n
	}
	if of == "" {
		return "", "", errors.New("it has no version: name the upload NAME-VERSION.tar.gz, or add a file \"version\" to it")
	}
	if !packageVersion.MatchString(of) {
		return "", "", fmt.Errorf("its version %.80q is not valid: begin with a letter or digit, and use letters, digits and . + ~ : _ ^ - only", of)
	}
	return name, of, checkName(name)
}

func checkName(name string) error {
	if !packageName.MatchString(name) {
		return fmt.Errorf("its name %.80q is not the name of a package: begin with a letter or digit, and use letters, digits and + . _ - only, without - at the end", name)
	}
	return nil
}
