package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"filippo.io/age"
)

// Version is the version of the format.
const Version = 1

// Manifest describes a backup.
type Manifest struct {
	Version           int       `json:"version"`
	Namespace         string    `json:"namespace"`
	Provisioning      string    `json:"provisioning"`
	UID               string    `json:"uid"` // of the Provisioning
	Time              time.Time `json:"time"`
	KubernetesVersion string    `json:"kubernetesVersion"`
	Member            string    `json:"member"`   // node of the member that made the snapshot
	Revision          int64     `json:"revision"` // of etcd when the snapshot began
	// PKIFolder is the folder on the node from which the files of FolderPKI come, and EtcdPKIFolder
	// that of FolderEtcdPKI; empty: there are none.
	PKIFolder     string `json:"pkiFolder"`
	EtcdPKIFolder string `json:"etcdPKIFolder,omitempty"`
	// Files are the names and sizes of all other files, in their order. The snapshot is the last.
	Files []FileSize `json:"files"`
}

// FileSize is the name and the size of a file in bytes.
type FileSize struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// File is a file of a backup.
type File struct {
	Name    string
	Content []byte
}

// Snapshot is a snapshot of etcd with its size, which is known before the content is read.
type Snapshot struct {
	Size int64
	io.Reader
}

// Writer writes one backup.
type Writer struct {
	manifest []byte
	time     time.Time
	files    []File
	snapshot Snapshot
	to       age.Recipient
}

// NewWriter prepares a backup with these files and the snapshot. It sets Version and Files of the
// manifest.
func NewWriter(m Manifest, files []File, snapshot Snapshot, recipient string) (*Writer, error) {
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, fmt.Errorf("the key for the backup is unusable: %w", err)
	}
	if snapshot.Size <= checksumSize {
		return nil, fmt.Errorf("a snapshot of %d bytes is too small", snapshot.Size)
	}
	m.Version, m.Files = Version, nil
	for _, f := range files {
		m.Files = append(m.Files, FileSize{f.Name, int64(len(f.Content))})
	}
	m.Files = append(m.Files, FileSize{FileSnapshot, snapshot.Size})
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	return &Writer{manifest: append(text, '\n'), time: m.Time, files: slices.Clone(files), snapshot: snapshot, to: to}, nil
}

const (
	block = 512      // tar pads files and headers to blocks, and ends with two empty ones
	chunk = 64 << 10 // age encrypts chunks of this size, each with a tag
	tag   = 16
)

// Size returns the exact number of bytes that WriteTo writes. The depot reserves them.
func (w *Writer) Size() (int64, error) {
	header := &counter{}
	sealed, err := age.Encrypt(header, w.to)
	if err == nil {
		err = sealed.Close() // writes one empty chunk
	}
	if err != nil {
		return 0, fmt.Errorf("measure the encryption: %w", err)
	}
	plain := int64(2 * block)
	for _, size := range append([]int64{int64(len(w.manifest)), w.snapshot.Size}, sizes(w.files)...) {
		plain += block + (size+block-1)/block*block
	}
	return header.n - tag + plain + (plain+chunk-1)/chunk*tag, nil
}

func sizes(files []File) (all []int64) {
	for _, f := range files {
		all = append(all, int64(len(f.Content)))
	}
	return all
}

// WriteTo writes the encrypted backup. It fails if the snapshot has another size than announced, or
// another checksum than the one that etcd appended to it.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	count := &counter{out: out}
	sealed, err := age.Encrypt(count, w.to)
	if err != nil {
		return count.n, fmt.Errorf("encrypt: %w", err)
	}
	archive := tar.NewWriter(sealed)
	for _, f := range append([]File{{FileManifest, w.manifest}}, w.files...) {
		if err := w.add(archive, f.Name, int64(len(f.Content)), bytes.NewReader(f.Content)); err != nil {
			return count.n, err
		}
	}
	snapshot := newChecked(w.snapshot.Reader)
	if err := w.add(archive, FileSnapshot, w.snapshot.Size, snapshot); err != nil {
		return count.n, err
	}
	if extra, _ := io.ReadFull(snapshot, make([]byte, 1)); extra > 0 {
		return count.n, fmt.Errorf("the snapshot of etcd has more than the announced %d bytes", w.snapshot.Size)
	}
	if err := snapshot.verify(); err != nil {
		return count.n, err
	}
	return count.n, errors.Join(archive.Close(), sealed.Close())
}

func (w *Writer) add(archive *tar.Writer, name string, size int64, content io.Reader) error {
	header := &tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: w.time.UTC().Truncate(time.Second), Typeflag: tar.TypeReg, Format: tar.FormatGNU}
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	n, err := io.CopyN(archive, content, size)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s ends after %d of %d bytes", name, n, size)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// counter counts the bytes that are written to out; nil: they are dropped.
type counter struct {
	out io.Writer
	n   int64
}

func (c *counter) Write(p []byte) (n int, err error) {
	n = len(p)
	if c.out != nil {
		n, err = c.out.Write(p)
	}
	c.n += int64(n)
	return n, err
}
