package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"filippo.io/age"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// write writes a backup of a running machine. The snapshot of etcd is that of the beginning: what is listed after it
// may be newer, but never lacks what the snapshot names.
func write(ctx context.Context, w io.Writer, l layout.Layout, etcd Etcd, to age.Recipient, now time.Time) (Manifest, error) {
	snapshot, err := etcd.snapshot(ctx)
	if err != nil {
		return Manifest{}, err
	}
	defer snapshot.Close()
	manifest, err := describe(l, snapshot.size, now)
	if err != nil {
		return Manifest{}, err
	}
	encrypted, err := age.Encrypt(w, to)
	if err != nil {
		return Manifest{}, err
	}
	archive := tar.NewWriter(encrypted)
	head, err := json.Marshal(manifest)
	if err != nil {
		return Manifest{}, err
	}
	for _, f := range append([]File{newFile(manifestFile, 0o600, head)}, manifest.Files...) {
		if err := archive.WriteHeader(&tar.Header{Name: f.Name, Size: f.Size, Mode: int64(f.Mode), ModTime: now}); err != nil {
			return Manifest{}, err
		}
		if f.Name == snapshotFile {
			err = copySnapshot(archive, snapshot)
		} else {
			_, err = archive.Write(f.text)
		}
		if err != nil {
			return Manifest{}, err
		}
	}
	if err := archive.Close(); err != nil {
		return Manifest{}, err
	}
	return manifest, encrypted.Close()
}

func copySnapshot(w io.Writer, from io.Reader) error {
	to := newChecked(w)
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.verify()
}

func describe(l layout.Layout, snapshot int64, now time.Time) (Manifest, error) {
	id, err := l.ID()
	if err != nil {
		return Manifest{}, err
	}
	host, err := os.Hostname()
	if err != nil {
		return Manifest{}, err
	}
	files, err := stateFiles(l)
	if err != nil {
		return Manifest{}, fmt.Errorf("read keys and settings: %w", err)
	}
	list, err := depotList(l)
	if err != nil {
		return Manifest{}, fmt.Errorf("list the content of the depot: %w", err)
	}
	m := Manifest{Version: Version, Machine: id, Host: host, Time: now.UTC().Truncate(time.Second)}
	m.Files = append(files, newFile(depotFile, 0o600, list), File{Name: snapshotFile, Size: snapshot, Mode: 0o600})
	return m, m.check()
}

func sum(text []byte) string {
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:])
}
