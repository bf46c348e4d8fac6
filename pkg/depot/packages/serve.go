package packages

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxWait is the longest time for which a request may wait for a change.
const MaxWait = 5 * time.Minute

// busyPause is the value of Retry-After, in seconds, for a client that may not wait. The client then asks
// again after that time.
const busyPause = "10"

// Serve answers a request for the list. It returns an error only if it has sent nothing.
//
// A request with the ETag of the list and "Prefer: wait=SECONDS" waits for a change. Package deadline
// does not end it: the request has no body, and the time before the first byte of the answer is time of
// the server.
func (x *Index) Serve(w http.ResponseWriter, r *http.Request) error {
	now, err := x.current(r.Context())
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Vary", "Prefer")
	h.Set("Cache-Control", "no-cache")
	known := r.Header.Get("If-None-Match")
	if wait := waitOf(r); wait > 0 && strings.Contains(known, now.etag) {
		if leave, ok := x.waiters.enter(clientOf(r)); ok {
			now, err = x.await(r.Context(), known, now, wait)
			leave()
			h.Set("Preference-Applied", "wait="+strconv.Itoa(int(wait/time.Second)))
		} else {
			h.Set("Retry-After", busyPause)
		}
	}
	if err != nil {
		return err
	}
	h.Set("ETag", now.etag)
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(now.body))
	return nil
}

// await returns the first list with another ETag than known, or the current list after the time. The
// list at the end of the time also has changes that users made in the depot's folder.
func (x *Index) await(ctx context.Context, known string, now *listing, wait time.Duration) (*listing, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for over := false; !over && strings.Contains(known, now.etag); {
		select {
		case <-now.changed:
		case <-timer.C:
			over = true
		case <-x.stopped:
			return now, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		var err error
		if now, err = x.current(ctx); err != nil {
			return nil, err
		}
	}
	return now, nil
}

// waitOf returns for how long a request may wait (RFC 7240). A request with a body does not wait: the
// server notices that a client is gone only after it has read the body.
func waitOf(r *http.Request) time.Duration {
	if r.Method != http.MethodGet || r.ContentLength != 0 {
		return 0
	}
	for _, preference := range strings.Split(strings.Join(r.Header.Values("Prefer"), ","), ",") {
		if text, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(preference)), "wait="); ok {
			seconds, err := strconv.ParseUint(strings.Trim(text, `"`), 10, 31)
			if err != nil {
				return 0
			}
			return min(MaxWait, time.Duration(seconds)*time.Second)
		}
	}
	return 0
}

func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
