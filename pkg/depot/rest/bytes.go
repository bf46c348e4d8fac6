package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// patch handles ICN's PATCH, which sends content in pieces of any size.
func (a *api) patch(w http.ResponseWriter, r *http.Request, ref protocol.Ref) {
	offset, err := strconv.ParseInt(r.Header.Get("Upload-Offset"), 10, 64)
	if err != nil || offset < 0 {
		a.fail(w, r, bad("Upload-Offset %q: give the number of bytes that the upload has already", r.Header.Get("Upload-Offset")))
		return
	}
	var rec protocol.Record
	body := newBody(w, r)
	err = a.locked(r.Context(), ref, uploads.Claim{Resume: true, Offset: offset, Interrupt: body.interrupt}, func() error {
		rec, err = a.receive(r, ref, offset, body)
		return err
	})
	if rec.ImageOffset != nil {
		w.Header().Set("Upload-Offset", strconv.FormatInt(*rec.ImageOffset, 10))
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	progress(w.Header(), rec)
	w.WriteHeader(http.StatusNoContent)
}

// receive appends a body to an upload. It finishes the upload if all bytes are then stored.
func (a *api) receive(r *http.Request, ref protocol.Ref, offset int64, body *body) (protocol.Record, error) {
	p, err := a.uploads.Open(r.Context(), ref)
	if errors.Is(err, uploads.ErrNotFound) {
		if stored, storedErr := a.uploads.Stored(r.Context(), ref); storedErr == nil {
			return stored.Record, uploads.ErrComplete
		}
	}
	if err != nil {
		return protocol.Record{}, err
	}
	rec := p.Record
	if left := rec.ImageLength - offset; r.ContentLength > left {
		return rec, bad("the request has %d bytes, but only %d are missing: check image_length and Upload-Offset", r.ContentLength, left)
	}
	if p.Digest == "" || offset != rec.ImageLength {
		next, err := a.uploads.Append(context.WithoutCancel(r.Context()), p, offset, body)
		rec.ImageOffset = &next
		if err != nil || next < rec.ImageLength {
			return rec, err
		}
	}
	if extra, _ := io.ReadFull(body, make([]byte, 1)); extra > 0 {
		return protocol.Record{}, errors.Join(bad("the content has more bytes than image_length (%d): nothing of it was kept", rec.ImageLength), a.uploads.Abort(r.Context(), p))
	}
	done, err := a.uploads.Finish(r.Context(), p)
	if err != nil {
		return protocol.Record{}, err
	}
	return done, nil
}

// body is a request's body that another request can interrupt.
type body struct {
	io.Reader
	rc          *http.ResponseController
	interrupted atomic.Bool
}

func newBody(w http.ResponseWriter, r *http.Request) *body {
	return &body{Reader: r.Body, rc: http.NewResponseController(w)}
}

func (b *body) interrupt() {
	b.interrupted.Store(true)
	_ = b.rc.SetReadDeadline(time.Now()) // wakes a Read that is waiting; on a connection without deadlines, that Read must end by itself
}

func (b *body) Read(p []byte) (int, error) {
	if b.interrupted.Load() {
		return 0, uploads.ErrInterrupted
	}
	n, err := b.Reader.Read(p)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return n, err
	case b.interrupted.Load():
		return n, uploads.ErrInterrupted
	}
	return n, fmt.Errorf("%w: %w", uploads.ErrBody, err)
}

func (a *api) getContent(w http.ResponseWriter, r *http.Request, ref protocol.Ref) {
	stored, err := a.uploads.Stored(r.Context(), ref)
	if err == nil {
		err = Serve(w, r, a.uploads, ref, stored)
	}
	if err != nil {
		a.fail(w, r, err)
	}
}

// Serve sends the content of a complete artifact, and supports ranges and conditional requests. It
// returns an error only if it has sent nothing.
func Serve(w http.ResponseWriter, r *http.Request, u *uploads.Service, ref protocol.Ref, a uploads.Stored) error {
	f, err := u.Content(r.Context(), ref, a)
	if err != nil {
		return err
	}
	defer f.Close()
	h := w.Header()
	h.Set("ETag", `"`+a.Digest.String()+`"`)
	h.Set(protocol.ChecksumHeader, a.Record.SHA256)
	h.Set("Content-Type", "application/octet-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	var modified time.Time
	if a.Record.Updated != nil {
		modified = *a.Record.Updated
	}
	http.ServeContent(w, r, "", modified, f)
	return nil
}
