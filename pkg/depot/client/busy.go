package client

import (
	"net/http"
	"strconv"
	"time"
)

// Busy is the error if the depot cannot accept a request now, for example because another client
// sends the same file.
type Busy struct {
	// After is how long the client should wait before it tries again: 1 s to maxWait.
	After time.Duration
	err   error
}

func (b *Busy) Error() string {
	if b.err == nil {
		return "the depot is busy"
	}
	return b.err.Error()
}

func (b *Busy) Unwrap() error { return b.err }

// maxWait is the longest wait that the client accepts from one answer.
const maxWait = time.Minute

// busy wraps err in a *Busy if the answer says when to try again. Otherwise it returns err.
func busy(resp *http.Response, err error) error {
	switch resp.StatusCode {
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable:
	default:
		return err
	}
	seconds, parseErr := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31)
	if parseErr != nil {
		return err
	}
	return &Busy{After: min(maxWait, max(time.Second, time.Duration(seconds)*time.Second)), err: err}
}
