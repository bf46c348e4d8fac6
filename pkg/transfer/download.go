package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// attempts is the maximum number of times in a row that a download is resumed without receiving a
// byte.
const attempts = 5

// get opens a download that is resumed after the connection breaks. It returns the size in bytes,
// or -1 if the server does not send the size.
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

	body io.ReadCloser
	at   int64
	// strong ETag of the content. Without it, a change of the content between two connections could
	// not be detected, so the download is not resumed.
	etag   string
	broken int // number of connections that broke since the last received byte
}

// open requests the content from offset d.at to the end.
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
			return n, nil // the next read gets the same error again and handles it
		}
		if err := d.resume(err); err != nil {
			return 0, err
		}
	}
}

// resume requests the rest of the content after a pause. Each attempt has a longer pause.
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
