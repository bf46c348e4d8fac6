package pack

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Entry describes one entry of an archive. At most one of Source, Content, Link and Dir is set.
type Entry struct {
	Name    string      // path in the archive, without a leading slash
	Source  string      // path of a file on this machine, whose content is copied
	Content []byte      // content of a file
	Link    string      // target of a symbolic link
	Dir     bool        // the entry is a folder
	Mode    fs.FileMode // 0 means 0755 for Source and Dir, 0644 for Content
}

// Gzip writes the entries as a gzipped tar file to path, atomically.
func Gzip(path string, entries []Entry) error {
	return atomically(path, func(f io.Writer) error {
		z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		if err != nil {
			return err
		}
		if err := write(z, entries); err != nil {
			return err
		}
		return z.Close()
	})
}

// Compress gzips the data of r (the tar file of a root file system) to path, atomically.
func Compress(path string, r io.Reader) error {
	return atomically(path, func(f io.Writer) error {
		z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		if err != nil {
			return err
		}
		if _, err := io.Copy(z, r); err != nil {
			return err
		}
		return z.Close()
	})
}

// Tree returns root and everything below it as entries, in lexical order. Each name begins with
// prefix. Tree omits a file or a whole folder if skip returns true for it; rel is the path relative
// to root. A nil skip omits nothing.
func Tree(root, prefix string, skip func(rel string, d fs.DirEntry) bool) ([]Entry, error) {
	var out []Entry
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if rel != "." && skip != nil && skip(rel, d) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		e, err := entry(path, filepath.ToSlash(filepath.Join(prefix, rel)), d)
		if err == nil {
			out = append(out, e)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", root, err)
	}
	return out, nil
}

func entry(path, name string, d fs.DirEntry) (Entry, error) {
	switch {
	case d.IsDir():
		return Entry{Name: name, Dir: true}, nil
	case d.Type()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return Entry{Name: name, Link: to}, err
	}
	info, err := d.Info()
	if err != nil {
		return Entry{}, err
	}
	mode := fs.FileMode(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	return Entry{Name: name, Source: path, Mode: mode}, nil
}

func write(w io.Writer, entries []Entry) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		if err := add(t, e); err != nil {
			return fmt.Errorf("pack %s: %w", e.Name, err)
		}
	}
	return t.Close()
}

func add(t *tar.Writer, e Entry) error {
	h := &tar.Header{Name: e.Name, Mode: int64(e.Mode.Perm()), Format: tar.FormatPAX, Typeflag: tar.TypeReg}
	if e.Mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	switch {
	case e.Link != "":
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.Link, 0o777
		return t.WriteHeader(h)
	case e.Dir:
		h.Typeflag, h.Name = tar.TypeDir, strings.TrimSuffix(e.Name, "/")+"/"
		h.Mode = orElse(h.Mode, 0o755)
		return t.WriteHeader(h)
	case e.Source != "":
		h.Mode = orElse(h.Mode, 0o755)
		return addFile(t, h, e.Source)
	}
	h.Mode, h.Size = orElse(h.Mode, 0o644), int64(len(e.Content))
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(e.Content)
	return err
}

func addFile(t *tar.Writer, h *tar.Header, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

func orElse(mode, fallback int64) int64 {
	if mode == 0 {
		return fallback
	}
	return mode
}

func atomically(path string, fill func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // has no effect after the rename
	defer f.Close()
	b := bufio.NewWriterSize(f, 1<<20)
	if err := fill(b); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
