package limits

import "time"

// Limits are the limits of a depot. A field of 0 means no limit.
type Limits struct {
	// MaxUpload is the size of the largest upload, and of the largest content of an archive, in
	// bytes.
	MaxUpload int64
	// MaxOpen is how many uploads and pushes may be open at once.
	MaxOpen int
	// Expiry is how long an upload may be idle before it is removed.
	Expiry time.Duration
	// Quota is how many bytes of blobs, uploads and plain files the depot may hold.
	Quota int64
	// MinFree is how many bytes of the disk must stay free.
	MinFree int64
	// BackupReserve is how many bytes of the quota and of the disk only Backups may use.
	BackupReserve int64
	// NamespaceShare is how many bytes the artifacts of one owner may have, Backups included.
	NamespaceShare int64
}

// Refusal is the error for an upload that exceeds a limit. Status is the HTTP status of the answer.
type Refusal struct {
	Status int
	Text   string
}

func (r *Refusal) Error() string { return r.Text }
