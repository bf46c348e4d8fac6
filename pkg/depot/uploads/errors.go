package uploads

import (
	"errors"
	"fmt"
)

// What a caller may have to tell apart, with the text for a person.
var (
	ErrNotFound = errors.New("not in the depot")
	ErrExists   = errors.New("exists already: delete it first")
	ErrComplete = errors.New("the upload is complete already")
	// ErrInterrupted ends a request whose upload another request continues.
	ErrInterrupted = errors.New("another request continues this upload: ask for its offset and go on from there")
	// ErrLocked keeps a request from what another one is working on.
	ErrLocked = errors.New("another request is sending this artifact or works on it, and goes on: try again when it has ended")
	// ErrFinishing keeps a HEAD of tus from an upload that another request works
	// on. Its status must be 423: tus clients take any other 4xx for the end of the
	// upload, and begin a new one.
	ErrFinishing = fmt.Errorf("the upload cannot be looked at: %w", ErrLocked)
	// ErrRecovering keeps everybody off an upload that an earlier process left.
	ErrRecovering = errors.New("the depot was restarted and is finishing this upload: try again in some seconds")
	// ErrBody marks what went wrong with reading from the client.
	ErrBody = errors.New("the request's body ended early")
)

// OffsetError says where an upload stands.
type OffsetError struct{ Got, Want int64 }

func (e *OffsetError) Error() string {
	return fmt.Sprintf("the upload has %d bytes, so the next are those from Upload-Offset %d on, not %d", e.Want, e.Want, e.Got)
}

// DigestError says that other bytes came than were announced.
type DigestError struct{ Given, Computed string }

func (e *DigestError) Error() string {
	return fmt.Sprintf("the content has sha256 %s, not %s as announced: nothing of it was kept, upload it again", e.Computed, e.Given)
}

// InvalidError says what is wrong with a request.
type InvalidError struct{ Text string }

func (e *InvalidError) Error() string { return e.Text }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }
