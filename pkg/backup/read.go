package backup

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
)

// maxFile limits the size of each file except the snapshot, in bytes.
const maxFile = 8 << 20

// Open is an encrypted backup that is being read.
type Open struct {
	Manifest Manifest
	// Files are the content of all files except the snapshot, by name.
	Files   map[string][]byte
	archive *tar.Reader
	size    int64
}

// Read decrypts a backup up to its snapshot.
func Read(in io.Reader, identity string) (*Open, error) {
	key, err := age.ParseX25519Identity(strings.TrimSpace(identity))
	if err != nil {
		return nil, errors.New("the key is not a private key of age") // err may quote the key
	}
	plain, err := age.Decrypt(in, key)
	if err != nil {
		var other *age.NoIdentityMatchError
		if errors.As(err, &other) {
			return nil, errors.New("the backup is encrypted for another key")
		}
		return nil, fmt.Errorf("decrypt the backup: %w", err)
	}
	o := &Open{Files: map[string][]byte{}, archive: tar.NewReader(plain)}
	text, err := o.next(FileManifest, -1)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &o.Manifest); err != nil {
		return nil, fmt.Errorf("%s of the backup: %w", FileManifest, err)
	}
	if v := o.Manifest.Version; v != Version {
		return nil, fmt.Errorf("the backup has format %d, but this program reads format %d: use the release of BPA that made the backup", v, Version)
	}
	last := len(o.Manifest.Files) - 1
	if last < 0 || o.Manifest.Files[last].Name != FileSnapshot {
		return nil, errors.New("the manifest of the backup names no snapshot")
	}
	for _, f := range o.Manifest.Files[:last] {
		if o.Files[f.Name], err = o.next(f.Name, f.Size); err != nil {
			return nil, err
		}
	}
	o.size = o.Manifest.Files[last].Size
	return o, nil
}

// next returns the content of the next file, which must have this name, and this size unless it is -1.
func (o *Open) next(name string, size int64) ([]byte, error) {
	header, err := o.header(name, size)
	if err != nil {
		return nil, err
	}
	if header.Size > maxFile {
		return nil, fmt.Errorf("%s of the backup has %d bytes, more than %d", name, header.Size, maxFile)
	}
	text, err := io.ReadAll(o.archive)
	if err != nil {
		return nil, fmt.Errorf("read %s of the backup: %w", name, err)
	}
	return text, nil
}

func (o *Open) header(name string, size int64) (*tar.Header, error) {
	header, err := o.archive.Next()
	if err != nil {
		return nil, fmt.Errorf("find %s in the backup: %w", name, err)
	}
	if header.Name != name || header.Typeflag != tar.TypeReg || size >= 0 && header.Size != size {
		return nil, fmt.Errorf("the backup has the file %q with %d bytes where the manifest names %s with %d bytes", header.Name, header.Size, name, size)
	}
	return header, nil
}

// WriteSnapshot writes the snapshot of etcd. It must be called once. If it returns an error, the
// written bytes must not be used.
func (o *Open) WriteSnapshot(out io.Writer) error {
	if _, err := o.header(FileSnapshot, o.size); err != nil {
		return err
	}
	snapshot := newChecked(o.archive)
	if _, err := io.Copy(out, snapshot); err != nil {
		return fmt.Errorf("read the snapshot of the backup: %w", err)
	}
	if err := snapshot.verify(); err != nil {
		return err
	}
	if header, err := o.archive.Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the backup does not end after the snapshot: %v, %w", header, err)
	}
	return nil
}
