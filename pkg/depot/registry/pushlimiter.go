package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// pushLimiter applies the depot's limits to pushes. It reserves space for a request's announced
// length before the first byte is read. If the length is not announced, it reserves space for each
// piece before the piece is written.
type pushLimiter struct {
	quota *limits.Quota
	// makeWay is called if too many uploads are open. It removes the push that has been idle
	// longest, unless that push was active recently, and reports whether it removed one.
	makeWay func(context.Context) bool
	next    http.Handler
}

func (p *pushLimiter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		p.next.ServeHTTP(w, r)
		return
	}
	key := "push " + rand.Text()
	defer p.quota.Release(key)
	name, id, isUpload := parseUpload(r.URL.Path)
	if isUpload && id == "" {
		if err := p.slot(r.Context(), key); err != nil {
			refuseWrite(w, err)
			return
		}
	}
	folder := ""
	if id != "" {
		folder = store.UploadFolder(name, id)
	}
	p.take(w, r, key, folder)
}

// slot counts a new push as open until the request ends. From then on, the store counts the push.
// If too many uploads are open, slot calls makeWay and tries once more.
func (p *pushLimiter) slot(ctx context.Context, key string) error {
	err := p.quota.Slot(key)
	var full *limits.Refusal
	if errors.As(err, &full) && p.makeWay(ctx) {
		err = p.quota.Slot(key)
	}
	if errors.As(err, &full) {
		full.Status = http.StatusTooManyRequests // the OCI distribution specification names this status
	}
	return err
}

func (p *pushLimiter) take(w http.ResponseWriter, r *http.Request, key, folder string) {
	if r.ContentLength == 0 || r.Body == nil {
		p.next.ServeHTTP(w, r)
		return
	}
	if r.ContentLength > 0 {
		if _, err := p.quota.Grow(key+" body", folder, r.ContentLength); err != nil {
			refuseWrite(w, err)
			return
		}
	}
	defer p.quota.Release(key + " body")
	if r.ContentLength > 0 {
		p.next.ServeHTTP(w, r)
		return
	}
	body := &quotaBody{ReadCloser: r.Body, grow: func(n int64) error {
		_, err := p.quota.Grow(key+" body", folder, n)
		return err
	}}
	r.Body = body
	p.next.ServeHTTP(&refusalWriter{ResponseWriter: w, body: body}, r)
}

// parseUpload splits /v2/{name}/blobs/uploads/{id}; the id of a new upload is empty.
func parseUpload(path string) (name, id string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/v2/")
	at := strings.LastIndex(rest, "/blobs/uploads/")
	if !ok || at < 0 {
		return "", "", false
	}
	return rest[:at], rest[at+len("/blobs/uploads/"):], true
}

// quotaBody is a request body of unknown length, such as Docker sends. It reserves space for each
// piece that it reads, and fails at a piece that does not fit.
type quotaBody struct {
	io.ReadCloser
	grow    func(int64) error
	refused error
}

func (b *quotaBody) Read(p []byte) (int, error) {
	if b.refused != nil {
		return 0, b.refused
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if b.refused = b.grow(int64(n)); b.refused != nil {
			return 0, b.refused
		}
	}
	return n, err
}

// refusalWriter replaces the library's error response if the quota has refused a piece of the body.
// The client then gets the reason for that refusal.
type refusalWriter struct {
	http.ResponseWriter
	body    *quotaBody
	refused bool
}

// Unwrap lets http.ResponseController reach the connection.
func (e *refusalWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *refusalWriter) WriteHeader(status int) {
	if e.refused {
		return
	}
	if e.body.refused != nil && status >= http.StatusBadRequest {
		e.refused = true
		refuseWrite(e.ResponseWriter, e.body.refused)
		return
	}
	e.ResponseWriter.WriteHeader(status)
}

func (e *refusalWriter) Write(p []byte) (int, error) {
	if e.refused {
		return len(p), nil
	}
	return e.ResponseWriter.Write(p)
}

func refuseWrite(w http.ResponseWriter, err error) {
	var refusal *limits.Refusal
	switch {
	case !errors.As(err, &refusal):
		registryError(w, http.StatusInternalServerError, "UNKNOWN", "the depot cannot measure its storage: check its disk")
	case refusal.Status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "10")
		registryError(w, refusal.Status, "TOOMANYREQUESTS", refusal.Text)
	default:
		registryError(w, refusal.Status, "DENIED", refusal.Text)
	}
}
