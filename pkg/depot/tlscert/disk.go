package tlscert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// readPair reads a file that writePair wrote. For a file with other content, it returns an error
// that names the file.
func readPair(path string) (*pair, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := parsePair(raw)
	if err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return p, nil
}

func parsePair(raw []byte) (*pair, error) {
	certificate, rest := pem.Decode(raw)
	private, _ := pem.Decode(rest)
	if certificate == nil || private == nil || certificate.Type != certificateBlock || private.Type != keyBlock {
		return nil, errors.New("it must have a certificate and its key in PEM")
	}
	cert, err := x509.ParseCertificate(certificate.Bytes)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(private.Bytes)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New("the key does not belong to the certificate")
	}
	return &pair{cert: cert, key: key}, nil
}

func writePair(path string, p *pair) error {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return err
	}
	return writeFile(path, append(encode(certificateBlock, p.cert.Raw), encode(keyBlock, der)...), 0o600)
}

// writeFile writes data to path atomically, and returns when the file would survive a crash. It
// does not write a file that has this content already.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	if held, err := os.ReadFile(path); err == nil && bytes.Equal(held, data) {
		return nil
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err == nil {
		err = errors.Join(temp.Chmod(mode), temp.Sync())
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
