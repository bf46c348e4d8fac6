package uploads

import (
	"errors"
	"fmt"
)

// These are the errors that callers distinguish. Their texts are for users.
var (
	ErrNotFound = errors.New("not in the depot")
	ErrExists   = errors.New("exists already: delete it first")
	ErrComplete = errors.New("the upload is complete already")
	// ErrInterrupted ends a request whose upload another request continues.
	ErrInterrupted = errors.New("another request continues this upload: ask for its offset and continue from there")
	// ErrLocked means that another request works on the artifact.
	ErrLocked = errors.New("another request is sending this artifact or works on it: try again when that request has ended")
	// ErrFinishing is the error for a HEAD request of a tus client while another request works on
	// the upload. Its status must be 423: for any other 4xx, tus clients assume that the upload has
	// ended, and begin a new one.
	ErrFinishing = fmt.Errorf("the offset of the upload is not known now: %w", ErrLocked)
	// ErrRecovering means that an earlier process left the upload, and that this process has not
	// recovered it yet.
	ErrRecovering = errors.New("the depot was restarted and still recovers this upload: try again in some seconds")
	// ErrBody means that reading from the client failed.
	ErrBody = errors.New("the request's body ended early")
)

// OffsetError means that the offset of a request is not the offset of the upload. Want is the
// upload's offset.
type OffsetError struct{ Got, Want int64 }

func (e *OffsetError) Error() string {
	return fmt.Sprintf("the upload has %d bytes: continue with Upload-Offset %d, not %d", e.Want, e.Want, e.Got)
}

// DigestError means that the content does not have the announced sha256.
type DigestError struct{ Given, Computed string }

func (e *DigestError) Error() string {
	return fmt.Sprintf("the content has sha256 %s, but %s was announced: nothing of it was kept, upload it again", e.Computed, e.Given)
}

// InvalidError means that a request is not valid. Text is the reason.
type InvalidError struct{ Text string }

func (e *InvalidError) Error() string { return e.Text }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }
