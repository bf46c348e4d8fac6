// Package lease keeps a second depot off a bucket, as a lock on a file does for
// a directory: the holder renews an object in it.
//
// It is best effort. The storage driver has no conditional write, so of two that
// start within the same moment each writes, waits, and looks whose name is
// there; and one that was cut off from the bucket stops writing by its own clock
// before anybody may take its place.
//
// Invariant: nobody takes a lease that was renewed within its time to live,
// measured by their own clock while they watch it: clocks need not agree.
package lease
