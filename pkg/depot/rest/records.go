package rest

import (
	"net/http"
	"strconv"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// post opens an upload. A tus client uses the tus protocol; any other client sends the record as in
// ICN.
func (a *api) post(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Tus-Resumable") != "" {
		a.tusCreate(w, r)
		return
	}
	rec, err := a.readRecord(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	ref := protocol.Ref{Owner: r.PathValue("owner"), Cluster: r.PathValue("cluster"), Kind: protocol.Kind(r.PathValue("kind")), Name: rec.ImageName}
	if err := fit(&rec, ref); err != nil {
		a.fail(w, r, err)
		return
	}
	if rec.SHA256, err = announced(r, rec.SHA256); err != nil {
		a.fail(w, r, err)
		return
	}
	err = a.locked(r.Context(), ref, uploads.Claim{}, func() error {
		p, err := a.uploads.Create(r.Context(), rec)
		rec = p.Record
		return err
	})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Location", ref.Path())
	progress(w.Header(), rec)
	answer(w, http.StatusCreated, rec)
}

// announced returns the checksum of the whole content from the request's headers, or the checksum
// of the record if no header has one. It is an error if both exist and differ.
func announced(r *http.Request, inRecord string) (string, error) {
	sum, err := protocol.AnnouncedChecksum(r.Header)
	if err != nil {
		return "", bad("%v", err)
	}
	if sum != "" && inRecord != "" && sum != inRecord {
		return "", bad("the header announces sha256 %s, but the metadata have %s: make them agree", sum, inRecord)
	}
	return max(sum, inRecord), nil
}

func (a *api) get(w http.ResponseWriter, r *http.Request, ref protocol.Ref) {
	rec, err := a.uploads.Record(r.Context(), ref)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	progress(w.Header(), rec)
	answer(w, http.StatusOK, rec)
}

// progress sets the headers that report the progress of an upload.
func progress(h http.Header, rec protocol.Record) {
	h.Set("Cache-Control", "no-store")
	h.Set("Upload-Length", strconv.FormatInt(rec.ImageLength, 10))
	if rec.ImageOffset != nil {
		h.Set("Upload-Offset", strconv.FormatInt(*rec.ImageOffset, 10))
	}
	if rec.Complete() {
		h.Set(protocol.ChecksumHeader, rec.SHA256)
	}
}

func (a *api) put(w http.ResponseWriter, r *http.Request, ref protocol.Ref) {
	rec, err := a.readRecord(r)
	if err == nil {
		err = fit(&rec, ref)
	}
	if err == nil {
		err = a.locked(r.Context(), ref, uploads.Claim{}, func() error {
			rec, err = a.uploads.Update(r.Context(), rec)
			return err
		})
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	progress(w.Header(), rec)
	answer(w, http.StatusCreated, rec)
}

func (a *api) delete(w http.ResponseWriter, r *http.Request, ref protocol.Ref) {
	err := a.locked(r.Context(), ref, uploads.Claim{}, func() error { return a.uploads.Delete(r.Context(), ref) })
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
