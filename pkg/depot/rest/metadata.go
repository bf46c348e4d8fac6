package rest

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// maxMetadata is the largest size, in bytes, of a record or a report.
const maxMetadata = 1 << 20

// readRecord reads a record from the body of a request. The body is plain JSON or, as in ICN, a
// multipart form with a part "metadata". A part "file" is ignored, as in ICN: the client sends the
// content of the artifact by PATCH.
func (a *api) readRecord(r *http.Request) (protocol.Record, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return protocol.Record{}, unreadable("Content-Type %q: send multipart/form-data with a part \"metadata\", or application/json", r.Header.Get("Content-Type"))
	}
	var body []byte
	switch kind {
	case "application/json":
		body, err = readSmall(r.Body)
	case "multipart/form-data":
		body, err = a.readForm(r)
	default:
		return protocol.Record{}, unreadable("Content-Type %s: send multipart/form-data with a part \"metadata\", or application/json", kind)
	}
	if err != nil {
		return protocol.Record{}, err
	}
	if len(body) == 0 {
		return protocol.Record{}, bad("the metadata is empty: send the image's record as JSON")
	}
	var rec protocol.Record
	if err := json.Unmarshal(body, &rec); err != nil {
		return protocol.Record{}, unreadable("the metadata is not a valid record in JSON: %v", err)
	}
	return rec, nil
}

func (a *api) readForm(r *http.Request) ([]byte, error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, unreadable("the form cannot be read: %v", err)
	}
	var metadata []byte
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return metadata, nil
		}
		if err != nil {
			return nil, unreadable("the form cannot be read: %v", err)
		}
		if err := a.readPart(part, &metadata); err != nil {
			return nil, err
		}
	}
}

func (a *api) readPart(part *multipart.Part, metadata *[]byte) (err error) {
	if part.FormName() == "metadata" {
		*metadata, err = readSmall(part)
		return err
	}
	rest := io.Reader(part)
	if most := a.quota.Limits().MaxUpload; most > 0 {
		rest = io.LimitReader(part, most)
	}
	if _, err := io.Copy(io.Discard, rest); err != nil {
		return unreadable("the form cannot be read: %v", err)
	}
	return nil
}

func readSmall(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxMetadata+1))
	if err != nil {
		return nil, unreadable("the metadata cannot be read: %v", err)
	}
	if len(body) > maxMetadata {
		return nil, &formError{http.StatusRequestEntityTooLarge, "the metadata has more than 1 MiB: keep descriptions short"}
	}
	return body, nil
}

// fit checks that a record describes the artifact in the path, and completes the record.
func fit(rec *protocol.Record, ref protocol.Ref) error {
	switch {
	case rec.Owner == "" || rec.ImageName == "":
		return bad("the metadata has no owner or no image_name: both are required")
	case rec.Owner != ref.Owner:
		return bad("the metadata has owner %q, but the path has %q: make them agree", rec.Owner, ref.Owner)
	case rec.ClusterName != "" && rec.ClusterName != ref.Cluster:
		return bad("the metadata has cluster_name %q, but the path has %q: make them agree", rec.ClusterName, ref.Cluster)
	case rec.ImageName != ref.Name:
		return bad("the metadata has image_name %q, but the path has %q: make them agree", rec.ImageName, ref.Name)
	case rec.ImageLength <= 0:
		return bad("image_length is %d: give the number of bytes", rec.ImageLength)
	}
	rec.ClusterName, rec.Kind = ref.Cluster, ref.Kind
	if rec.Type == "" {
		rec.Type = string(ref.Kind)
	}
	sum, err := protocol.ParseChecksum(rec.SHA256)
	if err != nil {
		return bad("%v", err)
	}
	rec.SHA256 = sum
	return nil
}
