package rest

import (
	"context"
	_ "embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/packages"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// OpenAPI is the document at /v1/openapi.json.
//
//go:embed openapi.json
var OpenAPI []byte

// lockWait is how long a request waits while another request works on the same artifact. The other
// request usually ends soon. If the waiting request continues an upload, and the other request is a
// stalled transfer of the same upload, the waiting request interrupts the transfer.
const lockWait = 20 * time.Second

// Services are what the API of /v1 serves.
type Services struct {
	Uploads  *uploads.Service
	Quota    *limits.Quota
	Packages *packages.Index
	// Software is nil if the depot has no Kubernetes to ask.
	Software    Software
	Maintenance Maintenance
	Log         *slog.Logger
}

// api serves /v1.
type api struct {
	uploads  *uploads.Service
	packages *packages.Index
	software Software
	// maintenance counts and frees content.
	maintenance Maintenance
	quota       *limits.Quota
	tus         http.Handler
	log         *slog.Logger
}

// New returns the handler of /v1.
func New(s Services) (http.Handler, error) {
	a := &api{uploads: s.Uploads, packages: s.Packages, software: s.Software, quota: s.Quota, maintenance: s.Maintenance, log: s.Log}
	var err error
	if a.tus, err = newTus(s.Uploads, s.Quota.Limits().MaxUpload, a.tusError); err != nil {
		return nil, err
	}
	return a.routes(), nil
}

func (a *api) routes() http.Handler {
	const (
		cluster = protocol.Base + "/{owner}/{cluster}"
		kind    = cluster + "/{kind}"
		image   = kind + "/{name}"
		upload  = image + "/uploads/{id}"
	)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(OpenAPI)
	})
	mux.HandleFunc("GET "+protocol.PackagesPath, a.listPackages)
	mux.HandleFunc("GET "+protocol.UsagePath, a.usage)
	mux.HandleFunc("GET "+protocol.CollectionPath, a.getCollection)
	mux.HandleFunc("POST "+protocol.CollectionPath, a.startCollection)
	for _, path := range []string{protocol.Base, protocol.Base + "/{owner}", cluster, kind} {
		mux.HandleFunc("GET "+path, a.list)
	}
	mux.HandleFunc("POST "+kind, a.post)
	mux.HandleFunc("OPTIONS "+kind, a.tusDiscover)
	mux.HandleFunc("GET "+image, a.ofImage(a.get))
	mux.HandleFunc("PUT "+image, a.ofImage(a.put))
	mux.HandleFunc("PATCH "+image, a.ofImage(a.patch))
	mux.HandleFunc("DELETE "+image, a.ofImage(a.delete))
	mux.HandleFunc("GET "+image+"/content", a.ofImage(a.getContent))
	mux.HandleFunc("PUT "+image+"/content", a.ofImage(a.putContent))
	for _, method := range []string{"HEAD", "PATCH", "DELETE", "POST", "OPTIONS"} {
		mux.HandleFunc(method+" "+upload, a.ofImage(a.tusUpload))
	}
	mux.HandleFunc("GET "+cluster+"/status", a.clusterStatus)
	mux.HandleFunc("GET "+cluster+"/status/{node}", a.nodeStatus)
	return mux
}

// ofImage checks the names in the path before it calls next.
func (a *api) ofImage(next func(http.ResponseWriter, *http.Request, protocol.Ref)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ref := protocol.Ref{
			Owner: r.PathValue("owner"), Cluster: r.PathValue("cluster"),
			Kind: protocol.Kind(r.PathValue("kind")), Name: r.PathValue("name"),
		}
		if err := ref.Validate(); err != nil {
			a.refuse(w, r, http.StatusBadRequest, err.Error())
			return
		}
		next(w, r, ref)
	}
}

// locked calls do while it holds the artifact's lock.
func (a *api) locked(ctx context.Context, ref protocol.Ref, claim uploads.Claim, do func() error) error {
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := a.uploads.Lock(wait, ref, claim)
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}
