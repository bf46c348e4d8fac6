package packages

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// These are the bounds of a tar package. maxUnpacked bounds the time that reading it takes.
const (
	maxUnpacked = 4 << 30
	maxEntries  = 100_000
	maxPath     = 1024
	// maxPaths limits the bytes of the names of its folders and links, which are kept in memory.
	maxPaths       = 16 << 20
	maxVersionFile = 256
	installProgram = "install.sh"
	versionFile    = "version"
)

// tarReader collects what a tar archive says about its package.
type tarReader struct {
	paths paths
	// top is the first part of the first path, and several means that other paths begin with another.
	top     string
	several bool
	// install and versions describe the files install.sh and version by their folder, "" or top. install is
	// true for an executable file.
	install  map[string]bool
	versions map[string]string
	entries  int
}

// readTar reads a tar package. It returns its version if it has a file "version".
func readTar(unpacked io.Reader) (facts, error) {
	limited := &io.LimitedReader{R: unpacked, N: maxUnpacked}
	files := tar.NewReader(limited)
	t := &tarReader{paths: paths{folders: map[string]bool{}, links: map[string]bool{}}, install: map[string]bool{}, versions: map[string]string{}}
	for {
		header, err := files.Next()
		switch {
		case limited.N == 0:
			return facts{}, fmt.Errorf("it has more than %d bytes of content", int64(maxUnpacked))
		case errors.Is(err, io.EOF):
			return t.facts()
		case err != nil:
			return facts{}, fmt.Errorf("it cannot be read as a tar archive: %w", err)
		}
		if t.entries++; t.entries > maxEntries {
			return facts{}, fmt.Errorf("it has more than %d files", maxEntries)
		}
		if err := t.add(header, files); err != nil {
			return facts{}, err
		}
	}
}

func (t *tarReader) add(header *tar.Header, content io.Reader) error {
	at, err := t.paths.add(header)
	if err != nil || at == "." {
		return err
	}
	first, rest, inFolder := strings.Cut(at, "/")
	if t.top == "" {
		t.top = first
	}
	t.several = t.several || first != t.top
	folder, name := "", at
	if inFolder {
		folder, name = first, rest
	}
	switch {
	case folder != "" && folder != t.top:
	case name == installProgram:
		t.install[folder] = header.Typeflag == tar.TypeReg && header.Mode&0o111 != 0
	case name == versionFile && header.Typeflag == tar.TypeReg:
		text, err := io.ReadAll(io.LimitReader(content, maxVersionFile))
		if err != nil {
			return fmt.Errorf("its file %s cannot be read: %w", at, err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		t.versions[folder] = strings.TrimSpace(line)
	}
	return nil
}

func (t *tarReader) facts() (facts, error) {
	folder := ""
	executable, there := t.install[folder]
	if !there && !t.several {
		folder = t.top
		executable, there = t.install[folder]
	}
	switch {
	case !there:
		return facts{}, fmt.Errorf("it has no program %s, neither at the top nor in the only folder at the top", installProgram)
	case !executable:
		return facts{}, fmt.Errorf("its %s is not an executable file: run \"chmod +x %s\" and make the archive again", installProgram, installProgram)
	}
	inside, there := t.versions[folder]
	if there && inside == "" {
		return facts{}, errors.New("the first line of its file \"version\" is empty")
	}
	return facts{format: protocol.FormatTar, version: inside}, nil
}
