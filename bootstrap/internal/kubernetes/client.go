// Package kubernetes reads and changes objects of an API server with the administrator's certificate, without kubectl
// and without a list of kinds. It must not import other packages of this module.
package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Client is a client of one API server.
type Client struct {
	url  string
	http *http.Client
}

// ErrNotFound reports that the API server has no such object or no such kind.
var ErrNotFound = errors.New("not found")

// NewClient returns a client with the certificates in a folder of package pki.
func NewClient(url, pki string) (*Client, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "admin.crt"), filepath.Join(pki, "admin.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}
	return With(url, &http.Client{Timeout: time.Minute, Transport: transport}), nil
}

// With returns a client that sends its requests by an HTTP client.
func With(url string, client *http.Client) *Client { return &Client{url: url, http: client} }

// Close closes the connections that wait for another request. A program that runs for long needs it, because each client
// has its own.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get reads the object or list at a path into out.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	text, err := c.do(ctx, http.MethodGet, path, nil, "")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// Patch merges fields into the object at a path; null removes one.
func (c *Client) Patch(ctx context.Context, path string, fields any) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, http.MethodPatch, path, text, "application/merge-patch+json")
	return err
}

// Apply makes the object at a path one that has the fields of an object, and creates it if it does not exist
// (server-side apply).
func (c *Client) Apply(ctx context.Context, path string, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, http.MethodPatch, path+"?fieldManager=bpa-machine&force=true", text, "application/apply-patch+yaml")
	return err
}

// busyLimit is how long a request is repeated while the API server is too busy for it, or still reads what it has stored.
const busyLimit = time.Minute

// do sends a request, which must have the same effect if it is sent twice.
func (c *Client) do(ctx context.Context, method, path string, body []byte, contentType string) ([]byte, error) {
	limit := time.After(busyLimit)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for last := error(nil); ; {
		text, status, err := c.send(ctx, method, path, body, contentType)
		switch {
		case err != nil:
			return nil, errors.Join(err, last)
		case status/100 == 2:
			return text, nil
		case status == http.StatusNotFound:
			return nil, fmt.Errorf("%s %s: %w", method, path, ErrNotFound)
		}
		err = fmt.Errorf("%s %s: %d %s: %s", method, path, status, http.StatusText(status), text[:min(len(text), 1000)])
		if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
			return nil, err
		}
		last = err
		select {
		case <-tick.C:
		case <-limit:
			return nil, err
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

func (c *Client) send(ctx context.Context, method, path string, body []byte, contentType string) (text []byte, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept", "application/json")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	return text, resp.StatusCode, err
}
