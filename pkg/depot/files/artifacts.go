package files

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/rest"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// sha256sumSuffix asks for the checksum of a file, as sumSuffix does. The checksum URLs of the
// images of hosts end with this suffix, so that users see which kind of checksum Ironic reads.
const sha256sumSuffix = ".sha256sum"

// artifactFiles serves the artifacts of /v1 below /files, as {kind}/{owner}/{cluster}/{name}.
// Ironic and package installers download them there. All other paths go to plain.
type artifactFiles struct {
	uploads *uploads.Service
	log     *slog.Logger
	plain   http.Handler
}

func (s *artifactFiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Trim(r.URL.Path, "/")
	err := s.serve(w, r, name)
	for _, suffix := range []string{sumSuffix, sha256sumSuffix} {
		if target, isSum := strings.CutSuffix(name, suffix); isSum && errors.Is(err, uploads.ErrNotFound) {
			err = s.serveSum(w, r, target)
		}
	}
	switch {
	case errors.Is(err, uploads.ErrNotFound):
		s.plain.ServeHTTP(w, r)
	case err != nil:
		s.log.Error("artifact cannot be served", "path", name, "error", err)
		http.Error(w, fmt.Sprintf("cannot read %q: see the depot's log", name), http.StatusInternalServerError)
	}
}

// serve sends an artifact. It returns an error only if it has sent nothing.
func (s *artifactFiles) serve(w http.ResponseWriter, r *http.Request, name string) error {
	ref, ok := protocol.ParseFilePath(name)
	if !ok {
		return uploads.ErrNotFound
	}
	stored, err := s.uploads.Stored(r.Context(), ref)
	if err != nil {
		return err
	}
	return rest.Serve(w, r, s.uploads, ref, stored)
}

func (s *artifactFiles) serveSum(w http.ResponseWriter, r *http.Request, name string) error {
	ref, ok := protocol.ParseFilePath(name)
	if !ok {
		return uploads.ErrNotFound
	}
	stored, err := s.uploads.Stored(r.Context(), ref)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, sumLine(stored.Record.SHA256, ref.Name)) // the client may have disconnected
	return nil
}
