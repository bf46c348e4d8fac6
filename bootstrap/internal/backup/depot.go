package backup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Content is a file of the depot.
type Content struct {
	Path   string `json:"path"` // below the folder of the depot
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"` // empty: the depot has recorded none
	time   time.Time
}

// names is the part of the depot that names blobs. The depot writes a blob before its name.
const names = "registry/docker/registry/v2/repositories"

var blob = regexp.MustCompile(`/blobs/sha256/[0-9a-f]{2}/([0-9a-f]{64})/data$`)

// walkDepot calls do with all content that the depot has stored: not with its secrets, which a backup has, and not with
// what is on its way.
func walkDepot(l layout.Layout, below string, do func(Content) error) error {
	skip := map[string]bool{"incoming": true, "lock": true}
	for _, secret := range layout.DepotSecrets() {
		skip[secret] = true
	}
	return filepath.WalkDir(filepath.Join(l.DepotDir(), below), func(at string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted in the meantime, or the depot is empty
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(l.DepotDir(), at)
		if err != nil {
			return err
		}
		if rel = filepath.ToSlash(rel); skip[rel] || strings.HasSuffix(rel, "/_uploads") {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			return nil
		}
		if err != nil {
			return err
		}
		return do(Content{Path: rel, Size: info.Size(), SHA256: digestOf(l, rel, info), time: info.ModTime()})
	})
}

// digestOf returns the digest of a file that its path or the depot's record says; empty: none does.
func digestOf(l layout.Layout, rel string, info fs.FileInfo) string {
	if m := blob.FindStringSubmatch("/" + rel); m != nil {
		return m[1]
	}
	name, ok := strings.CutPrefix(rel, "files/")
	if !ok {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(l.DepotDir(), "digests", name+".digest.json"))
	if err != nil {
		return ""
	}
	var record struct {
		Size   int64
		SHA256 string
	}
	if json.Unmarshal(text, &record) != nil || record.Size != info.Size() {
		return ""
	}
	return record.SHA256
}

// depotList returns the content of the depot, one JSON object a line.
func depotList(l layout.Layout) ([]byte, error) {
	var list bytes.Buffer
	lines := json.NewEncoder(&list)
	err := walkDepot(l, "", func(c Content) error { return lines.Encode(c) })
	return list.Bytes(), err
}

// Copied says what CopyDepot has done.
type Copied struct {
	Files, Present int // copied, and there before
	Bytes          int64
}

func (c Copied) String() string {
	return fmt.Sprintf("%d files (%d MiB) copied, %d were there", c.Files, c.Bytes>>20, c.Present)
}

// CopyDepot copies the content of the depot that a folder lacks, so that it continues where an earlier copy ended. The
// names of blobs come first: the copy may have blobs without a name, but no name without its blob. It leaves content
// in the folder that the depot has no longer. Damaged blobs are not copied; the error names them.
func CopyDepot(ctx context.Context, l layout.Layout, to string) (done Copied, err error) {
	var damaged error
	one := func(c Content) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(c.Path))
		if info, err := os.Stat(target); err == nil && info.Size() == c.Size && (blob.MatchString("/"+c.Path) || info.ModTime().Equal(c.time)) {
			done.Present++
			return nil
		}
		err := copyFile(ctx, filepath.Join(l.DepotDir(), filepath.FromSlash(c.Path)), target, c)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted in the meantime
			return nil
		case errors.Is(err, errDamaged):
			damaged = errors.Join(damaged, err)
			return nil
		case err == nil:
			done.Files, done.Bytes = done.Files+1, done.Bytes+c.Size
		}
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return done, err
	}
	err = walkDepot(l, names, one)
	if err == nil {
		err = walkDepot(l, "", func(c Content) error {
			if strings.HasPrefix(c.Path, names+"/") {
				return nil
			}
			return one(c)
		})
	}
	return done, errors.Join(err, damaged)
}

var errDamaged = errors.New("the depot's file is damaged")

// copyFile copies a file, whole or not at all, with its modification time. It compares the digest that the path of a
// blob has.
func copyFile(ctx context.Context, from, to string, c Content) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(to), ".copy-*")
	if err != nil {
		return err
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), reader{ctx, in})
	if have := hex.EncodeToString(hash.Sum(nil)); err == nil && blob.MatchString("/"+c.Path) && have != c.SHA256 {
		err = fmt.Errorf("%w: %s has the digest %s: run `depot scrub`", errDamaged, from, have)
	}
	err = errors.Join(err, out.Sync(), out.Close())
	if err == nil {
		err = os.Chtimes(out.Name(), c.time, c.time)
	}
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}

// reader ends when its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Missing returns how many files of a list of the depot's content a depot lacks, and the paths of the first ones.
func Missing(l layout.Layout, list io.Reader) (missing, all int, first []string, err error) {
	lines := json.NewDecoder(list)
	for lines.More() {
		var c Content
		if err := lines.Decode(&c); err != nil {
			return 0, 0, nil, fmt.Errorf("read the list of the depot's content: %w", err)
		}
		all++
		info, err := os.Stat(filepath.Join(l.DepotDir(), filepath.FromSlash(path.Clean("/"+c.Path))))
		if err == nil && info.Size() == c.Size {
			continue
		}
		if missing++; len(first) < 3 {
			first = append(first, cmp.Or(c.Path, "(no name)"))
		}
	}
	return missing, all, first, nil
}
