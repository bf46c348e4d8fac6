package limits

import "time"

// Limits of a depot. A zero means no limit.
type Limits struct {
	// MaxUpload is the largest upload, and the most that an archive may hold, in bytes.
	MaxUpload int64
	// MaxOpen is how many uploads and pushes may be under way.
	MaxOpen int
	// Expiry is how long an upload may rest before it is removed.
	Expiry time.Duration
	// Quota is how many bytes of blobs, uploads and plain files the depot may hold.
	Quota int64
	// MinFree is how many bytes of the disk stay free.
	MinFree int64
}

// Refusal says why an upload is not taken. Its status is an HTTP one.
type Refusal struct {
	Status int
	Text   string
}

func (r *Refusal) Error() string { return r.Text }
