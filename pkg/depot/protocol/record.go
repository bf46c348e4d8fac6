package protocol

import "time"

// Record is what the depot knows of an artifact: ICN's record, and after it
// what the depot adds. Sizes and offsets are in bytes.
type Record struct {
	Owner       string `json:"owner"`
	ClusterName string `json:"cluster_name"`
	// Type is free text of the client, by default the kind.
	Type           string      `json:"type"`
	ImageName      string      `json:"image_name"`
	ImageOffset    *int64      `json:"image_offset,omitempty"`
	ImageLength    int64       `json:"image_length"`
	UploadComplete *bool       `json:"upload_complete,omitempty"`
	Description    Description `json:"description"`

	// SHA256 of the content, in hexadecimal. A client that gives it has it
	// checked; otherwise it appears when the upload is complete.
	SHA256 string `json:"sha256,omitempty"`
	// Images are the references, without a registry, under which an archive's
	// images can be pulled.
	Images []string `json:"images,omitempty"`
	// Kind, Created and Updated are set by the depot.
	Kind    Kind       `json:"kind,omitempty"`
	Created *time.Time `json:"created,omitempty"`
	Updated *time.Time `json:"updated,omitempty"`
}

// Listing is the body of GET /v1/baremetalcluster and of the paths below it.
type Listing struct {
	Images []Record `json:"images"`
	// Damaged are artifacts whose records the depot cannot read; the depot lists at most 1000 of them.
	Damaged []DamagedRecord `json:"damaged,omitempty"`
}

// DamagedRecord names an artifact that the depot stores and cannot read.
type DamagedRecord struct {
	Owner       string `json:"owner"`
	ClusterName string `json:"cluster_name"`
	Kind        Kind   `json:"kind"`
	ImageName   string `json:"image_name"`
	// Detail says what is damaged and what to do.
	Detail string `json:"detail"`
}

// Ref names the damaged artifact.
func (r DamagedRecord) Ref() Ref {
	return Ref{Owner: r.Owner, Cluster: r.ClusterName, Kind: r.Kind, Name: r.ImageName}
}

// Description is free text about an artifact, as ICN has it.
type Description struct {
	ImageRecords []map[string]string `json:"image_records,omitempty"`
}

// Ref names the artifact that the record is about.
func (r Record) Ref() Ref {
	return Ref{Owner: r.Owner, Cluster: r.ClusterName, Kind: r.Kind, Name: r.ImageName}
}

// Complete says whether all bytes are there and checked.
func (r Record) Complete() bool { return r.UploadComplete != nil && *r.UploadComplete }
