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

// partsSuffix ends the name of the file that tells of the parts of a bundle.
const partsSuffix = ".parts.json"

// parts tells which files make up a bundle.
type parts struct {
	Size  int64  `json:"size"`
	Parts []part `json:"parts"`
}

type part struct {
	Name   string `json:"name"` // beside this file
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

const maxParts = 1000

// Output is a bundle being written: a file, or parts of at most a given size. Nothing has its name before Commit.
type Output struct {
	path  string
	limit int64 // of a part; 0: one file
	file  *os.File
	left  int64
	sum   hash.Hash
	done  parts
}

// NewOutput begins to write a bundle; with a limit, in parts of at most so many bytes: path.000, path.001 ..., and path.parts.json.
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
			return fmt.Errorf("the bundle does not fit in %d parts of %d bytes: make them larger", maxParts, o.limit)
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

// unfinished ends the names of files that are being written.
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

// Commit gives the files their names; the one that tells of the parts comes last.
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

// Files are the names of what was written.
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

// Discard removes what is not finished. After Commit it does nothing.
func (o *Output) Discard() {
	if o.file != nil {
		_ = o.file.Close()
	}
	for _, p := range o.done.Parts {
		_ = os.Remove(filepath.Join(filepath.Dir(o.path), p.Name) + unfinished)
	}
}

// volume is a file, or parts that read as one.
type volume struct {
	files []*os.File
	sizes []int64
	size  int64
}

// openVolume finds out whether path is a bundle or tells of parts: a part's name, or that of the whole, does too.
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
	var told parts
	if err := json.Unmarshal(text, &told); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(told.Parts) == 0 || len(told.Parts) > maxParts {
		return nil, fmt.Errorf("%s tells of %d parts", path, len(told.Parts))
	}
	v := &volume{}
	for _, p := range told.Parts {
		if filepath.Base(p.Name) != p.Name {
			return nil, errors.Join(fmt.Errorf("%s: part %q is not beside it", path, p.Name), v.Close())
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
		return fmt.Errorf("%s is no file", path)
	}
	if size >= 0 && info.Size() != size {
		return fmt.Errorf("%s has %d bytes, should have %d: copy it again", path, info.Size(), size)
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
