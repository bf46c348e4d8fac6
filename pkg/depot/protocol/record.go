package protocol

import "time"

// Record describes an artifact: the fields of ICN's record first, then those that the depot adds.
// Sizes and offsets are in bytes.
type Record struct {
	Owner       string `json:"owner"`
	ClusterName string `json:"cluster_name"`
	// Type is free text of the client; the default is the kind.
	Type           string      `json:"type"`
	ImageName      string      `json:"image_name"`
	ImageOffset    *int64      `json:"image_offset,omitempty"`
	ImageLength    int64       `json:"image_length"`
	UploadComplete *bool       `json:"upload_complete,omitempty"`
	Description    Description `json:"description"`

	// SHA256 is the digest of the content in hexadecimal. If the client sets it, the depot checks
	// the content against it. Otherwise the depot sets it when the upload is complete.
	SHA256 string `json:"sha256,omitempty"`
	// Images are the references, without a registry, under which clients can pull the images of an
	// archive.
	Images []string `json:"images,omitempty"`
	// Kind, Created and Updated are set by the depot.
	Kind    Kind       `json:"kind,omitempty"`
	Created *time.Time `json:"created,omitempty"`
	Updated *time.Time `json:"updated,omitempty"`
}

// Listing is the body of GET /v1/baremetalcluster and of the paths below it.
type Listing struct {
	Images []Record `json:"images"`
	// Damaged are artifacts whose records the depot cannot read; the depot lists at most 1000 of
	// them.
	Damaged []DamagedRecord `json:"damaged,omitempty"`
}

// DamagedRecord names an artifact that the depot stores and cannot read.
type DamagedRecord struct {
	Owner       string `json:"owner"`
	ClusterName string `json:"cluster_name"`
	Kind        Kind   `json:"kind"`
	ImageName   string `json:"image_name"`
	// Detail describes the damage and what to do.
	Detail string `json:"detail"`
}

// Ref returns the name of the damaged artifact.
func (r DamagedRecord) Ref() Ref {
	return Ref{Owner: r.Owner, Cluster: r.ClusterName, Kind: r.Kind, Name: r.ImageName}
}

// Description is free text about an artifact, in ICN's format.
type Description struct {
	ImageRecords []map[string]string `json:"image_records,omitempty"`
}

// Ref returns the name of the artifact.
func (r Record) Ref() Ref {
	return Ref{Owner: r.Owner, Cluster: r.ClusterName, Kind: r.Kind, Name: r.ImageName}
}

// Complete reports whether all bytes are stored and checked.
func (r Record) Complete() bool { return r.UploadComplete != nil && *r.UploadComplete }
