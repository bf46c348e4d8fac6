package debian

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is a parsed line of a sources.list(5).
type source struct {
	options []string
	rest    []string
}

const sourceExample = "deb http://archive.ubuntu.com/ubuntu noble main universe"

func parseSource(line string) (source, error) {
	wrong := fmt.Errorf("source of packages %q is not like %q", line, sourceExample)
	words := strings.Fields(line)
	if strings.ContainsAny(line, "\n\r") || len(words) < 3 || words[0] != "deb" {
		return source{}, wrong
	}
	s := source{rest: words[1:]}
	if strings.HasPrefix(words[1], "[") {
		end := slices.IndexFunc(s.rest, func(w string) bool { return strings.HasSuffix(w, "]") })
		if end < 0 {
			return source{}, wrong
		}
		s.options = strings.Fields(strings.Trim(strings.Join(s.rest[:end+1], " "), "[]"))
		s.rest = s.rest[end+1:]
	}
	if len(s.rest) < 2 || !strings.Contains(s.rest[0], ":") {
		return source{}, wrong
	}
	return s, nil
}

// hasTrust reports whether the line itself says how its packages are verified. Such a line does not
// get the option signed-by.
func (s source) hasTrust() bool {
	return slices.ContainsFunc(s.options, func(o string) bool {
		return strings.HasPrefix(o, "signed-by=") || strings.HasPrefix(o, "trusted=")
	})
}

func (s source) signedBy(keyring string) source {
	s.options = append(slices.Clone(s.options), "signed-by="+keyring)
	return s
}

func (s source) String() string {
	words := []string{"deb"}
	if len(s.options) > 0 {
		words = append(words, "["+strings.Join(s.options, " ")+"]")
	}
	return strings.Join(append(words, s.rest...), " ")
}

// archiveKeys holds, for each distribution, the file with the keys of its archive and the package
// that contains this file.
var archiveKeys = map[string]struct{ file, from string }{
	"debian": {"/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"},
	"ubuntu": {"/usr/share/keyrings/ubuntu-archive-keyring.gpg", "ubuntu-keyring"},
}

// findKeyring returns the name of the file with the keys that sign the packages of a system. The
// user can give this name as the argument named. If named is empty, findKeyring returns the name of
// the distribution's file on this machine.
func findKeyring(system, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	id := system[:strings.LastIndex(system, "-")]
	keys, known := archiveKeys[id]
	if !known {
		return "", fmt.Errorf("--keyring is missing: the file with the keys that sign the packages of %s", system)
	}
	if _, err := os.Stat(keys.file); errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("the file %s with the keys that sign the packages of %s is not on this machine: install the distribution's package %s, or name a copy of the file with --keyring", keys.file, system, keys.from)
	}
	return keys.file, nil
}

// copyKeyring copies the keys into a folder that apt's user can read. apt finds the format of the
// keys from the extension of the file name, so the copy has the extension for its format.
func copyKeyring(from, dir string) (string, error) {
	keys, err := os.ReadFile(from)
	if err != nil {
		return "", fmt.Errorf("--keyring: %w", err)
	}
	to := filepath.Join(dir, "keyring.gpg")
	if bytes.HasPrefix(keys, []byte("-----BEGIN PGP")) {
		to = filepath.Join(dir, "keyring.asc")
	}
	return to, os.WriteFile(to, keys, 0o644)
}

// sourcesList returns the text of a sources.list. A line that does not say how its packages are
// verified gets the option signed-by with the keyring.
func sourcesList(w Request, dir string) (string, error) {
	var text strings.Builder
	keyring := ""
	for _, line := range w.Sources {
		s, err := parseSource(line)
		if err != nil {
			return "", err
		}
		if !s.hasTrust() {
			if keyring == "" {
				found, err := findKeyring(w.System, w.Keyring)
				if err != nil {
					return "", err
				}
				if keyring, err = copyKeyring(found, dir); err != nil {
					return "", err
				}
			}
			s = s.signedBy(keyring)
		}
		fmt.Fprintln(&text, s)
	}
	return text.String(), nil
}
