package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Etcd is a running etcd.
type Etcd struct {
	URL string
	PKI string // the folder with the certificates
}

// snapshot is a snapshot of etcd as a reader. Its last bytes are the SHA-256 of the others.
type snapshot struct {
	size    int64 // of all bytes
	body    io.ReadCloser
	decoder *json.Decoder
	left    []byte // received and not read yet
	got     int64
}

// snapshot asks etcd for a snapshot, which is that of the moment of this call, by the JSON form of its API.
func (e Etcd) snapshot(ctx context.Context) (*snapshot, error) {
	client, err := e.client()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+"/v3/maintenance/snapshot", strings.NewReader("{}"))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask etcd for a snapshot: %w: run `machine start` if the machine is stopped", err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return nil, fmt.Errorf("ask etcd for a snapshot: %s: %s", resp.Status, text)
	}
	s := &snapshot{body: resp.Body, decoder: json.NewDecoder(resp.Body)}
	remaining, err := s.receive()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.size = int64(len(s.left)) + remaining + sha256.Size
	return s, nil
}

// receive waits for the next part of the snapshot, and returns how many bytes come after it, without the checksum.
func (s *snapshot) receive() (remaining int64, err error) {
	var part struct {
		Result struct {
			Remaining int64  `json:"remaining_bytes,string"`
			Blob      []byte `json:"blob"`
		} `json:"result"`
		Error json.RawMessage `json:"error"`
	}
	if err := s.decoder.Decode(&part); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		return 0, fmt.Errorf("receive the snapshot of etcd: %w", err)
	}
	if part.Error != nil {
		return 0, fmt.Errorf("receive the snapshot of etcd: %s", part.Error)
	}
	s.left = part.Result.Blob
	return part.Result.Remaining, nil
}

func (s *snapshot) Read(p []byte) (int, error) {
	for len(s.left) == 0 {
		_, err := s.receive()
		if errors.Is(err, io.EOF) && s.got != s.size {
			return 0, fmt.Errorf("etcd has sent %d of the %d bytes of its snapshot", s.got, s.size)
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, s.left)
	s.left, s.got = s.left[n:], s.got+int64(n)
	return n, nil
}

func (s *snapshot) Close() error { return s.body.Close() }

func (e Etcd) client() (*http.Client, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(e.PKI, "apiserver-etcd.crt"), filepath.Join(e.PKI, "apiserver-etcd.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(e.PKI, "etcd-ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, DisableKeepAlives: true}}, nil
}

// checked writes a snapshot, or whatever is written to it, on to a writer, and compares the checksum at the end.
type checked struct {
	io.Writer
	sum  hash.Hash
	last []byte // the last bytes, at most as many as a checksum has
}

func newChecked(w io.Writer) *checked { return &checked{Writer: w, sum: sha256.New()} }

func (c *checked) Write(p []byte) (int, error) {
	c.last = append(c.last, p...)
	if over := len(c.last) - sha256.Size; over > 0 {
		c.sum.Write(c.last[:over])
		c.last = bytes.Clone(c.last[over:])
	}
	return c.Writer.Write(p)
}

// verify returns an error if what was written is not a whole snapshot.
func (c *checked) verify() error {
	if subtle.ConstantTimeCompare(c.last, c.sum.Sum(nil)) != 1 {
		return errors.New("the snapshot of etcd is damaged: its last 32 bytes are not the SHA-256 of the others")
	}
	return nil
}
