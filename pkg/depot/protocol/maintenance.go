package protocol

import "time"

// Paths of the depot's own maintenance.
const (
	UsagePath      = "/v1/usage"
	CollectionPath = "/v1/gc"
)

// Parameters of a POST to CollectionPath.
const (
	// ParamDryRun only counts if its value is true.
	ParamDryRun = "dry-run"
	// ParamGrace is a duration such as 24h. Content that clients have sent within this time stays.
	ParamGrace = "grace"
	// ParamUnlisted, if its value is true, also frees images that have neither a tag nor a line in
	// the list in the body.
	ParamUnlisted = "unlisted-images"
)

// Usage is the answer at UsagePath. All sizes are in bytes.
type Usage struct {
	// Bytes is what the depot holds.
	Bytes int64 `json:"bytes"`
	// Kinds has the content by its kind, together with what gc would free (unreferenced). A blob
	// that several kinds need counts once.
	Kinds []Amount `json:"kinds"`
	// Owners has the complete artifacts of each owner. Artifacts with the same content count each.
	Owners []Amount `json:"owners"`
	// Free is the free space of the disk; absent if the content is in a bucket.
	Free *int64 `json:"free,omitempty"`
	// MinFree, BackupReserve, Quota and NamespaceShare are the limits of the depot; 0: none.
	MinFree        int64 `json:"minFree"`
	BackupReserve  int64 `json:"backupReserve"`
	Quota          int64 `json:"quota"`
	NamespaceShare int64 `json:"namespaceShare"`
}

// Amount is a number of things and their bytes.
type Amount struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
	// Limit is the most bytes that are allowed; 0: no limit.
	Limit int64 `json:"limit,omitempty"`
}

// States of a Collection.
const (
	Collecting      = "running"
	Collected       = "succeeded"
	CollectionError = "failed"
)

// Collection describes a garbage collection, running or ended.
type Collection struct {
	// ID distinguishes this collection from others, also after a restart of the depot.
	ID      string     `json:"id"`
	State   string     `json:"state"`
	DryRun  bool       `json:"dryRun"`
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended,omitempty"`
	// Repositories and Blobs count what was read.
	Repositories int `json:"repositories"`
	Blobs        int `json:"blobs"`
	// Manifests and FreedBlobs are what was freed, and Bytes the size of these blobs. A dry run
	// counts what would be.
	Manifests  int   `json:"freedManifests"`
	FreedBlobs int   `json:"freedBlobs"`
	Bytes      int64 `json:"freedBytes"`
	// Recent and RecentBytes are blobs that nothing refers to, and that stay because clients have
	// sent them within Grace.
	Recent      int    `json:"recentBlobs"`
	RecentBytes int64  `json:"recentBytes"`
	Grace       string `json:"grace"`
	// Error is the reason of a failure.
	Error string `json:"error,omitempty"`
}
