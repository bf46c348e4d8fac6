package garbage

import (
	"maps"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Kind is a kind of content by which a collection counts blobs.
type Kind uint8

// Kinds of content. A blob that several kinds need counts for the first one that was found.
const (
	// Recent are blobs that nothing refers to yet: of pushes that are not complete, of uploads that
	// are not published, and of both if they were given up within the grace.
	Recent Kind = iota
	Images
	OSImages
	BinaryImages
	ContainerImages
	Backups
)

var kindNames = map[Kind]string{
	Recent: "recent", Images: "images", OSImages: string(protocol.OSImages), BinaryImages: string(protocol.BinaryImages),
	ContainerImages: string(protocol.ContainerImages), Backups: "backups",
}

// String returns the name of the kind for users.
func (k Kind) String() string { return kindNames[k] }

// kindOf returns the kind of an artifact.
func kindOf(ref protocol.Ref) Kind {
	switch {
	case ref.IsBackup():
		return Backups
	case ref.Kind == protocol.OSImages:
		return OSImages
	case ref.Kind == protocol.ContainerImages:
		return ContainerImages
	}
	return BinaryImages
}

// Amount is a number of things and their bytes.
type Amount struct {
	Count int
	Bytes int64
}

func (a Amount) plus(n int, bytes int64) Amount { return Amount{a.Count + n, a.Bytes + bytes} }

// Freed counts the manifests and blobs that a collection has removed, or that a dry run would
// remove. Bytes is the size of the blobs.
type Freed struct {
	Manifests, Blobs int
	Bytes            int64
}

// Result is what a collection has done and seen.
type Result struct {
	Freed Freed
	// Repositories and Blobs count what was read.
	Repositories, Blobs int
	// Kinds has the blobs that stay.
	Kinds map[Kind]Amount
	// Owners has the complete artifacts of /v1 by their owners. If two artifacts have the same
	// content, each of them counts.
	Owners map[string]Amount
}

func (r Result) copy() Result {
	r.Kinds, r.Owners = maps.Clone(r.Kinds), maps.Clone(r.Owners)
	return r
}
