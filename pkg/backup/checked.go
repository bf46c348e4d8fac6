package backup

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"hash"
	"io"
)

// checksumSize is the size of the SHA-256 that etcd appends to a snapshot. `etcdutl snapshot restore`
// compares it with the rest of the snapshot.
const checksumSize = sha256.Size

// checked reads a snapshot and computes the SHA-256 of everything except its last checksumSize bytes.
type checked struct {
	in   io.Reader
	sum  hash.Hash
	last []byte // the last bytes that were read, at most checksumSize
}

func newChecked(in io.Reader) *checked { return &checked{in: in, sum: sha256.New()} }

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.last = append(c.last, p[:n]...)
	if over := len(c.last) - checksumSize; over > 0 {
		c.sum.Write(c.last[:over])
		c.last = append(c.last[:0], c.last[over:]...)
	}
	return n, err
}

// verify returns an error if the snapshot is damaged. The whole snapshot must have been read.
func (c *checked) verify() error {
	if subtle.ConstantTimeCompare(c.last, c.sum.Sum(nil)) != 1 {
		return errors.New("the snapshot of etcd is damaged: its last 32 bytes are not the SHA-256 of the rest")
	}
	return nil
}
