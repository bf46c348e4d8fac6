package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// partsSuffix is the end of the name of the file that lists the parts of a bundle.
const partsSuffix = ".parts.json"

// parts is the content of the file that lists the parts of a bundle.
type parts struct {
	Size  int64  `json:"size"`
	Parts []part `json:"parts"`
}

type part struct {
	Name   string `json:"name"` // name of a file in the folder of the list
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

const maxParts = 1000

// Output writes a bundle as one file, or as several parts of limited size. Until Commit, the files
// have temporary names.
type Output struct {
	path  string
	limit int64 // maximum size of a part in bytes; 0: one file
	file  *os.File
	left  int64
	sum   hash.Hash
	done  parts
}

// NewOutput returns an Output that writes the file path. With a limit in bytes, it writes the parts
// path.000, path.001 and so on, and then path.parts.json.
func NewOutput(path string, limit int64) *Output { return &Output{path: path, limit: limit} }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if o.file == nil {
			if err := o.next(); err != nil {
				return n, err
			}
		}
		some := p
		if o.limit > 0 && int64(len(some)) > o.left {
			some = p[:o.left]
		}
		m, err := io.MultiWriter(o.file, o.sum).Write(some)
		n, o.left, p = n+m, o.left-int64(m), p[m:]
		if err != nil {
			return n, err
		}
		if o.limit > 0 && o.left == 0 {
			if err := o.end(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

func (o *Output) next() error {
	name := o.path
	if o.limit > 0 {
		if len(o.done.Parts) == maxParts {
			return fmt.Errorf("the bundle does not fit into %d parts of %d bytes: make the parts larger", maxParts, o.limit)
		}
		name = fmt.Sprintf("%s.%03d", o.path, len(o.done.Parts))
	}
	file, err := os.Create(name + unfinished)
	if err != nil {
		return err
	}
	o.file, o.left, o.sum = file, o.limit, sha256.New()
	o.done.Parts = append(o.done.Parts, part{Name: filepath.Base(name)})
	return nil
}

// unfinished is the end of the names of files that are being written.
const unfinished = ".unfinished"

func (o *Output) end() error {
	info, err := o.file.Stat()
	err = errors.Join(err, o.file.Sync(), o.file.Close())
	o.file = nil
	if err != nil {
		return err
	}
	last := &o.done.Parts[len(o.done.Parts)-1]
	last.Size, last.SHA256 = info.Size(), hex.EncodeToString(o.sum.Sum(nil))
	o.done.Size += last.Size
	return nil
}

// Commit gives the files their final names. The file that lists the parts is written last, so that
// it never lists missing parts.
func (o *Output) Commit() error {
	if o.file != nil {
		if err := o.end(); err != nil {
			return err
		}
	}
	for _, p := range o.done.Parts {
		name := filepath.Join(filepath.Dir(o.path), p.Name)
		if err := os.Rename(name+unfinished, name); err != nil {
			return err
		}
	}
	if o.limit == 0 {
		return nil
	}
	text, err := json.MarshalIndent(o.done, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.path+partsSuffix, append(text, '\n'), 0o644)
}

// Files returns the names of the written files.
func (o *Output) Files() []string {
	var names []string
	for _, p := range o.done.Parts {
		names = append(names, filepath.Join(filepath.Dir(o.path), p.Name))
	}
	if o.limit > 0 {
		names = append(names, o.path+partsSuffix)
	}
	return names
}

// Discard removes unfinished files. After Commit it does nothing.
func (o *Output) Discard() {
	if o.file != nil {
		_ = o.file.Close()
	}
	for _, p := range o.done.Parts {
		_ = os.Remove(filepath.Join(filepath.Dir(o.path), p.Name) + unfinished)
	}
}

// volume is a file, or several parts that are read as one file.
type volume struct {
	files []*os.File
	sizes []int64
	size  int64
}

// openVolume opens a bundle. path is the name of the bundle, of its first part, or of the list of
// its parts. If a list of parts exists, openVolume opens the parts.
func openVolume(path string) (*volume, error) {
	whole := strings.TrimSuffix(strings.TrimSuffix(path, partsSuffix), ".000")
	if _, err := os.Stat(whole + partsSuffix); err == nil {
		return openParts(whole + partsSuffix)
	}
	v := &volume{}
	return v, v.add(path, -1)
}

func openParts(path string) (*volume, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list parts
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(list.Parts) == 0 || len(list.Parts) > maxParts {
		return nil, fmt.Errorf("%s lists %d parts, expected 1 to %d", path, len(list.Parts), maxParts)
	}
	v := &volume{}
	for _, p := range list.Parts {
		if filepath.Base(p.Name) != p.Name {
			return nil, errors.Join(fmt.Errorf("%s: part %q is not in the same folder", path, p.Name), v.Close())
		}
		if err := v.add(filepath.Join(filepath.Dir(path), p.Name), p.Size); err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	return v, nil
}

func (v *volume) add(path string, size int64) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	v.files = append(v.files, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if size >= 0 && info.Size() != size {
		return fmt.Errorf("%s has %d bytes, expected %d: copy it again", path, info.Size(), size)
	}
	v.sizes = append(v.sizes, info.Size())
	v.size += info.Size()
	return nil
}

// ReadAt implements io.ReaderAt over all parts.
func (v *volume) ReadAt(p []byte, at int64) (n int, err error) {
	for i, file := range v.files {
		if at >= v.sizes[i] {
			at -= v.sizes[i]
			continue
		}
		m, err := file.ReadAt(p[n:min(int64(len(p)), int64(n)+v.sizes[i]-at)], at)
		n += m
		if err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
		at = 0
	}
	return n, io.EOF
}

func (v *volume) Close() (err error) {
	for _, f := range v.files {
		err = errors.Join(err, f.Close())
	}
	return err
}
