package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"
	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
	"github.com/akraino-icn/bpa/bootstrap/internal/target"
)

// longest is the most that a manifest or a file of the state folder may have, so that no damaged file fills the memory.
const longest = 512 << 20

// Unpack reads a backup, which is a file or has the address of a target, and writes its files to a new folder. It
// returns only after all are checked; after an error, nothing is left of the folder.
func Unpack(ctx context.Context, path string, access target.Access, keys []age.Identity, to string) (Manifest, error) {
	file, err := open(ctx, path, access)
	if err != nil {
		return Manifest{}, fmt.Errorf("read the backup: %w", err)
	}
	defer file.Close()
	plain, err := age.Decrypt(file, keys...)
	if none := new(age.NoIdentityMatchError); errors.As(err, &none) {
		return Manifest{}, fmt.Errorf("the backup %s is not for the private key of %s: use the private key that belongs to the recipient with which it was made", path, publicKeys(keys))
	}
	if err != nil && errors.As(err, new(*fs.PathError)) {
		return Manifest{}, fmt.Errorf("read the backup: %w", err)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("%s is damaged, or no backup of a machine (%w): use another copy of it, or an older backup", path, err)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return Manifest{}, err
	}
	manifest, err := unpack(plain, to)
	if disk := errors.Is(err, fs.ErrExist) || errors.As(err, new(*fs.PathError)); err != nil && !disk {
		err = fmt.Errorf("the backup %s is damaged: %w: use another copy of it, or an older backup", path, err)
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w: free space on the disk of %s", err, filepath.Dir(to))
	}
	if err != nil {
		return Manifest{}, errors.Join(err, os.RemoveAll(to))
	}
	return manifest, nil
}

func open(ctx context.Context, path string, access target.Access) (io.ReadCloser, error) {
	at, name, err := target.Split(path)
	if err != nil {
		return nil, err
	}
	t, err := target.New(at, access)
	if err != nil {
		return nil, err
	}
	return t.Open(ctx, name)
}

func unpack(plain io.Reader, to string) (Manifest, error) {
	archive := tar.NewReader(plain)
	text, err := next(archive, File{Name: manifestFile, Size: -1})
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, fmt.Errorf("its manifest: %w", err)
	}
	if err := m.check(); err != nil {
		return Manifest{}, err
	}
	for _, f := range m.Files {
		if err := unpackFile(archive, f, to); err != nil {
			return Manifest{}, err
		}
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return Manifest{}, fmt.Errorf("it goes on after its last file (%w)", err)
	}
	_, err = io.Copy(io.Discard, plain) // the end of the encryption proves that nothing is missing
	return m, err
}

func unpackFile(archive *tar.Reader, f File, to string) error {
	target := filepath.Join(to, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if f.Name == snapshotFile {
		return unpackSnapshot(archive, f, target)
	}
	text, err := next(archive, f)
	if err != nil {
		return err
	}
	return disk.WriteFile(target, text, f.Mode)
}

// next returns the next file of the archive, which must be the given one. A negative size and an empty digest are not
// compared.
func next(archive *tar.Reader, want File) ([]byte, error) {
	head, err := archive.Next()
	if err != nil {
		return nil, err
	}
	if head.Name != want.Name || want.Size >= 0 && head.Size != want.Size {
		return nil, fmt.Errorf("it has %s with %d bytes in the place of %s with %d bytes", head.Name, head.Size, want.Name, want.Size)
	}
	if head.Size > longest {
		return nil, fmt.Errorf("%s has %d bytes", head.Name, head.Size)
	}
	var text bytes.Buffer
	if _, err := io.Copy(&text, archive); err != nil {
		return nil, err
	}
	if hash := sha256.Sum256(text.Bytes()); want.SHA256 != "" && want.SHA256 != hex.EncodeToString(hash[:]) {
		return nil, fmt.Errorf("%s has not the content that it was made with", want.Name)
	}
	return text.Bytes(), nil
}

func unpackSnapshot(archive *tar.Reader, f File, target string) error {
	head, err := archive.Next()
	if err != nil {
		return err
	}
	if head.Name != f.Name || head.Size != f.Size {
		return fmt.Errorf("it has %s with %d bytes in the place of the snapshot of etcd with %d bytes", head.Name, head.Size, f.Size)
	}
	out, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(copySnapshot(out, archive), out.Sync(), out.Close())
}
