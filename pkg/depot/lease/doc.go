// Package lease keeps a second depot off a bucket. The holder of the lease renews an object in the
// bucket. For a directory, a file lock has the same purpose.
//
// The lease is best effort, since the storage driver has no conditional write. If two depots start
// at the same moment, each writes the object, waits, and then checks which depot's name is in it. A
// holder that loses its connection to the bucket measures the time with its own clock, and stops
// writing before another depot may take over.
//
// Invariant: a depot never takes a lease that was renewed within its time to live. It measures this
// time with its own clock while it watches the lease, so clocks need not agree.
package lease
