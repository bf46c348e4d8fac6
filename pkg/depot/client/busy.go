package client

import (
	"net/http"
	"strconv"
	"time"
)

// Busy is the depot's answer that something is in the way now, such as another client that sends the same file.
type Busy struct {
	// After is how long the depot asks to wait before another attempt.
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

// maxWait bounds what the depot may ask for at once.
const maxWait = time.Minute

// busy marks the error of an answer that says when to try again.
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
