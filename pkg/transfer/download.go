package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// attempts is how often a download is taken up again where it broke off, without a byte in between.
const attempts = 5

// get opens a download that goes on after broken connections.
func get(ctx context.Context, client *http.Client, url string) (io.ReadCloser, int64, error) {
	d := &download{ctx: ctx, client: client, url: url, pause: time.Second, stall: stallLimit}
	size, err := d.open()
	if err != nil {
		return nil, 0, err
	}
	return d, size, nil
}

type download struct {
	ctx    context.Context
	client *http.Client
	url    string
	pause  time.Duration
	stall  time.Duration

	body   io.ReadCloser
	at     int64
	etag   string // strong; empty: a part of another content could not be told from one of this
	broken int    // times since the last byte
}

// open asks for the rest, and for all of it where nothing was read yet.
func (d *download) open() (int64, error) {
	req, err := http.NewRequestWithContext(d.ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return 0, err
	}
	want := http.StatusOK
	if d.at > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
		req.Header.Set("If-Range", d.etag)
		want = http.StatusPartialContent
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return 0, err
	}
	if resp.StatusCode != want {
		resp.Body.Close()
		return 0, fmt.Errorf("GET %s: %s", d.url, resp.Status)
	}
	if etag := resp.Header.Get("ETag"); len(etag) > 2 && etag[0] == '"' {
		d.etag = etag
	}
	d.body = watched(resp.Body, d.stall)
	return resp.ContentLength, nil
}

func (d *download) Read(p []byte) (int, error) {
	for {
		n, err := d.body.Read(p)
		d.at += int64(n)
		if n > 0 {
			d.broken = 0
		}
		if err == nil || errors.Is(err, io.EOF) {
			return n, err
		}
		if n > 0 {
			return n, nil // the next read finds the connection broken still
		}
		if err := d.resume(err); err != nil {
			return 0, err
		}
	}
}

// resume opens the rest after a pause, which grows.
func (d *download) resume(cause error) error {
	d.body.Close()
	for d.etag != "" && d.broken < attempts {
		d.broken++
		select {
		case <-d.ctx.Done():
			return d.ctx.Err()
		case <-time.After(d.pause * time.Duration(d.broken)):
		}
		_, err := d.open()
		if err == nil {
			return nil
		}
		cause = err
	}
	return fmt.Errorf("GET %s broke off after %d bytes: %w", d.url, d.at, cause)
}

func (d *download) Close() error { return d.body.Close() }
