package rest

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tus/tusd/v2/pkg/handler"
	"golang.org/x/exp/slog"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// networkTimeout is the tus handler's own timeout. It has an effect only in servers that set no
// deadlines themselves; the depot sets them, see package deadline.
const networkTimeout = 2 * time.Minute

// newTus returns the handler of the tus protocol for uploads. For this handler, the id of an upload
// is the whole path. The artifact that the upload belongs to is in the request's context.
func newTus(u *uploads.Service, maxSize int64, toError func(error) error) (http.Handler, error) {
	store := uploads.TusStore{Service: u, Errors: toError}
	composer := handler.NewStoreComposer()
	composer.UseCore(store)
	composer.UseTerminater(store)
	composer.UseLocker(store)
	h, err := handler.NewUnroutedHandler(handler.Config{
		StoreComposer:   composer,
		MaxSize:         maxSize,
		BasePath:        "/",
		DisableDownload: true,
		Cors:            &handler.CorsConfig{Disable: true},
		NetworkTimeout:  networkTimeout,
		// The depot logs requests itself.
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return nil, err
	}
	return h.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			h.PostFile(w, r)
		case http.MethodHead:
			h.HeadFile(w, r)
		case http.MethodPatch:
			h.PatchFile(w, r)
		case http.MethodDelete:
			h.DelFile(w, r)
		default:
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		}
	})), nil
}

// tusCreate reads the record's fields from Upload-Metadata: image_name (or filename), and
// optionally sha256 and type.
func (a *api) tusCreate(w http.ResponseWriter, r *http.Request) {
	meta := handler.ParseMetadataHeader(r.Header.Get("Upload-Metadata"))
	ref := protocol.Ref{Owner: r.PathValue("owner"), Cluster: r.PathValue("cluster"), Kind: protocol.Kind(r.PathValue("kind")), Name: meta["image_name"]}
	if ref.Name == "" {
		ref.Name = meta["filename"]
	}
	if err := ref.Validate(); err != nil {
		a.fail(w, r, bad("%v: Upload-Metadata needs image_name or filename", err))
		return
	}
	sum, err := protocol.ParseChecksum(meta["sha256"])
	if err != nil {
		a.fail(w, r, bad("Upload-Metadata: %v", err))
		return
	}
	rec := protocol.Record{Owner: ref.Owner, ClusterName: ref.Cluster, Kind: ref.Kind, ImageName: ref.Name, Type: meta["type"], SHA256: sum}
	if rec.Type == "" {
		rec.Type = string(ref.Kind)
	}
	a.serveTus(w, r, rec, "")
}

func (a *api) tusUpload(w http.ResponseWriter, r *http.Request, ref protocol.Ref) {
	if err := a.uploads.AwaitRecovery(r.Context(), ref); err != nil {
		a.fail(w, r, err)
		return
	}
	// A PATCH at the offset of a running transfer interrupts this transfer, which tus clients need
	// after a lost connection. A client that does not know the upload's id must not be able to do
	// that.
	if r.Method != http.MethodOptions {
		known, err := a.uploads.Knows(r.Context(), ref, r.PathValue("id"))
		if err != nil {
			a.fail(w, r, err)
			return
		}
		if !known {
			http.Error(w, "no such upload: it has ended, or the artifact has another upload now", http.StatusNotFound)
			return
		}
	}
	rec := protocol.Record{Owner: ref.Owner, ClusterName: ref.Cluster, Kind: ref.Kind, ImageName: ref.Name}
	a.serveTus(w, r, rec, uploads.TusID(ref, r.PathValue("id")))
}

// tusMethod returns the method that the client means. A client that cannot send PATCH sends POST
// with the method in X-HTTP-Method-Override.
func tusMethod(r *http.Request) string {
	if meant := r.Header.Get("X-HTTP-Method-Override"); r.Method == http.MethodPost && meant != "" {
		return meant
	}
	return r.Method
}

// tusRequest returns the properties of a request that the tus store needs. A PATCH resumes the
// upload at the offset in its header Upload-Offset.
func tusRequest(r *http.Request, rec protocol.Record) uploads.TusRequest {
	request := uploads.TusRequest{Record: rec, ReadOnly: tusMethod(r) == http.MethodHead}
	offset, err := strconv.ParseInt(r.Header.Get("Upload-Offset"), 10, 64)
	if err == nil && tusMethod(r) == http.MethodPatch {
		request.Claim = uploads.Claim{Resume: true, Offset: offset}
	}
	return request
}

// tusDiscover answers OPTIONS with the tus version and extensions.
func (a *api) tusDiscover(w http.ResponseWriter, r *http.Request) {
	a.serveTus(w, r, protocol.Record{}, "")
}

func (a *api) serveTus(w http.ResponseWriter, r *http.Request, rec protocol.Record, id string) {
	inner := r.WithContext(uploads.WithTusRequest(r.Context(), tusRequest(r, rec)))
	inner.URL = &url.URL{Path: "/" + id}
	a.tus.ServeHTTP(&relocated{ResponseWriter: w, uploads: rec.Ref().Path() + "/uploads/"}, inner)
}

// relocated replaces the Location of a new upload with its path below /v1. The path is relative, so
// it is also correct behind a proxy.
type relocated struct {
	http.ResponseWriter
	uploads string
}

// Unwrap lets http.ResponseController reach the connection.
func (w *relocated) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *relocated) WriteHeader(code int) {
	if location := w.Header().Get("Location"); location != "" {
		w.Header().Set("Location", w.uploads+location[strings.LastIndex(location, ".")+1:])
	}
	w.ResponseWriter.WriteHeader(code)
}
