package store

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
)

// DamagedError says that a document is there and cannot be read, unlike one
// that is not there, and unlike a storage out of reach.
type DamagedError struct {
	// What is damaged: a tag, a manifest or a config blob, with its digest.
	What string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: %v: run \"depot scrub\" on the store", e.What, e.Err)
}

// errOther is a flipped bit.
var errOther = errors.New("its content does not have its digest")

// damaged tells what is wrong with the bytes from what is wrong with reading
// them. A disk that cannot read one sector has damaged what is in it.
func damaged(what string, err error) error {
	var storage storagedriver.Error
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if ended || IsAbsent(err) || errors.As(err, &storage) && !errors.Is(storage.Detail, syscall.EIO) {
		return err
	}
	return &DamagedError{what, err}
}

// lost is damaged for what has to be there, since something refers to it. The
// cause is not wrapped: nobody is to take it for a document that is not there.
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
