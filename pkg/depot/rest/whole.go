package rest

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// putContent stores an artifact whose content comes in one request. If the request fails, the depot
// keeps none of the content. A client that lost the answer may send the same content again.
func (a *api) putContent(w http.ResponseWriter, r *http.Request, ref protocol.Ref) {
	rec := protocol.Record{Owner: ref.Owner, ClusterName: ref.Cluster, Kind: ref.Kind, ImageName: ref.Name, Type: string(ref.Kind), ImageLength: r.ContentLength}
	var err error
	if rec.SHA256, err = announced(r, ""); err != nil {
		a.fail(w, r, err)
		return
	}
	if r.ContentLength < 0 {
		a.refuse(w, r, http.StatusLengthRequired, "the depot reserves space before it reads the content: send a Content-Length, or upload in pieces")
		return
	}
	body, code := newBody(w, r), http.StatusCreated
	err = a.locked(r.Context(), ref, uploads.Claim{}, func() error {
		next, err := a.store(r.Context(), rec, body)
		if errors.Is(err, uploads.ErrExists) {
			code = http.StatusOK
			next, err = a.uploads.Same(r.Context(), rec, body, err)
		}
		rec = next
		return err
	})
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Location", ref.Path())
	progress(w.Header(), rec)
	answer(w, code, rec)
}

func (a *api) store(ctx context.Context, rec protocol.Record, body io.Reader) (protocol.Record, error) {
	ctx = context.WithoutCancel(ctx)
	p, err := a.uploads.CreateWhole(ctx, rec)
	if err != nil {
		return rec, err
	}
	next, err := a.uploads.Append(ctx, p, 0, body)
	if err == nil && next < rec.ImageLength {
		err = uploads.ErrBody
	}
	if err != nil {
		return rec, errors.Join(err, a.uploads.Abort(ctx, p))
	}
	return a.uploads.Finish(ctx, p)
}
