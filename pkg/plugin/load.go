package plugin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// Limits of a plugin. They are far above what a real plugin has.
const (
	MaxFiles = 500
	MaxSize  = 4 << 20 // bytes of all files together
	maxPath  = 200
	// maxDefinition keeps the decoding of a plugin.yaml small. The decoder itself stops when aliases
	// make a document grow too much.
	maxDefinition = 256 << 10
)

// Load reads a plugin's directory and checks it. The error names the file and the field.
func Load(dir fs.FS) (Plugin, error) {
	content, err := read(dir)
	if err != nil {
		return Plugin{}, err
	}
	return FromContent(content)
}

// FromContent returns the plugin with these files, checked as Load does.
func FromContent(content map[string][]byte) (Plugin, error) {
	if err := checkLimits(content); err != nil {
		return Plugin{}, err
	}
	text, ok := content[DefinitionFile]
	switch {
	case !ok:
		return Plugin{}, fmt.Errorf("%s: the plugin has no such file", DefinitionFile)
	case len(text) > maxDefinition:
		return Plugin{}, fmt.Errorf("%s: it has %d bytes, more than %d", DefinitionFile, len(text), maxDefinition)
	}
	p := Plugin{Content: content}
	if err := yaml.UnmarshalStrict(text, &p.Definition); err != nil {
		return Plugin{}, fmt.Errorf("%s: %w", DefinitionFile, err)
	}
	if err := p.check(); err != nil {
		return Plugin{}, err
	}
	return p, nil
}

// read returns the regular files of a directory. Everything else is an error: a link could lead out
// of the directory.
func read(dir fs.FS) (map[string][]byte, error) {
	content, size := map[string][]byte{}, int64(0)
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s: it is not a regular file", name)
		case len(content) == MaxFiles:
			return errTooMany
		}
		text, err := readFile(dir, name, MaxSize-size)
		content[name], size = text, size+int64(len(text))
		return err
	})
	return content, err
}

var (
	errTooMany = fmt.Errorf("the plugin has more than %d files", MaxFiles)
	errTooBig  = fmt.Errorf("the plugin's files have more than %d bytes", MaxSize)
)

func readFile(dir fs.FS, name string, rest int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, rest+1))
	if int64(len(text)) > rest {
		return nil, errTooBig
	}
	return text, err
}

func checkLimits(content map[string][]byte) error {
	if len(content) > MaxFiles {
		return errTooMany
	}
	size := 0
	for name, text := range content {
		if err := CheckPath(name); err != nil {
			return err
		}
		size += len(text)
	}
	if size > MaxSize {
		return errTooBig
	}
	return nil
}

var errPath = errors.New("a path in a plugin is relative, without . and .., and has only letters, digits and _.-/")

// CheckPath returns an error unless name can be the path of a file of a plugin on every system.
func CheckPath(name string) error {
	if !fs.ValidPath(name) || name == "." || len(name) > maxPath || path.Clean(name) != name {
		return fmt.Errorf("file %.*q: %w", maxPath, name, errPath)
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-/", r)
	}
	if strings.IndexFunc(name, func(r rune) bool { return !plain(r) }) >= 0 {
		return fmt.Errorf("file %q: %w", name, errPath)
	}
	return nil
}
