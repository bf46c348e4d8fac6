package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// kept is a temporary file with the digest and size of its content.
type kept struct {
	*os.File
	digest v1.Hash
	size   int64
}

// keep copies the content to a temporary file in dir.
func keep(dir string, content io.Reader) (*kept, error) {
	file, err := os.CreateTemp(dir, "bundle-*")
	if err != nil {
		return nil, err
	}
	k := &kept{File: file}
	sum := sha256.New()
	k.size, err = io.Copy(io.MultiWriter(file, sum), content)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write the content to a temporary file: %w", err), k.Close())
	}
	k.digest = v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum.Sum(nil))}
	return k, nil
}

// Close removes the file.
func (k *kept) Close() error { return errors.Join(k.File.Close(), os.Remove(k.Name())) }
