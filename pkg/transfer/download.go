package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// attempts is how often a download is resumed without receiving a byte in between.
const attempts = 5

// get opens a download that resumes after broken connections. It returns the size in bytes; -1: the
// server does not send it.
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
	etag   string // strong; empty: a download of changed content could not be detected, so it is not resumed
	broken int    // broken connections since the last byte
}

// open requests the bytes from d.at on.
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
			return n, nil // the next read returns the error of the connection again
		}
		if err := d.resume(err); err != nil {
			return 0, err
		}
	}
}

// resume requests the rest after a pause, which grows with each attempt.
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
