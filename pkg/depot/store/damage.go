package store

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

// DamagedError means that a document exists and cannot be read. There are other errors for a
// document that is missing and for a storage that cannot be reached.
type DamagedError struct {
	// What names the damaged part: a tag, a manifest or a config blob, with its digest.
	What string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: %v: run \"depot scrub\" on the store", e.What, e.Err)
}

// errOther means that content does not match its digest, as after a flipped bit.
var errOther = errors.New("its content does not match its digest")

// damaged returns a DamagedError if err means that the content is damaged, and err itself if
// reading failed for another reason. A disk error (EIO) counts as damage, since the disk can no
// longer read the content.
func damaged(what string, err error) error {
	var storage storagedriver.Error
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if ended || IsAbsent(err) || errors.As(err, &storage) && !errors.Is(storage.Detail, syscall.EIO) {
		return err
	}
	return &DamagedError{what, err}
}

// lost is like damaged, but for content that something refers to: a missing file is damage too. For
// a missing file, the result does not wrap err, so that callers do not treat the error as a missing
// document.
func lost(what string, err error) error {
	if IsAbsent(err) {
		return &DamagedError{what, errors.New("it is gone")}
	}
	return damaged(what, err)
}

func isDamage(err error) bool {
	var hurt *DamagedError
	return errors.As(damaged("", err), &hurt)
}
