package depot

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/artifact"
	"github.com/akraino-icn/bpa/pkg/depot/limits"
)

// guarded keeps clients of the registry within the depot's limits, and out of
// the repositories in which the depot keeps what /v1 is for.
func guarded(gate *limits.Gate, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/v2/"+artifact.ReservedPrefix) {
			registryError(w, http.StatusForbidden, "DENIED", "repositories under "+artifact.ReservedPrefix+" are written through /v1 only")
			return
		}
		if r.Method != http.MethodDelete {
			if err := admit(gate, r.ContentLength); err != nil {
				refuseWrite(w, err)
				return
			}
			if most := gate.Limits().MaxUpload; most > 0 && r.Body != nil {
				r.Body = http.MaxBytesReader(w, r.Body, most)
			}
			if r.ContentLength < 0 && r.Body != nil {
				r.Body = &roomy{ReadCloser: r.Body, gate: gate}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// askAfter is how many bytes of unknown length come before the gate is asked
// again.
const askAfter = 64 << 20

// roomy is a body that does not say how long it is: Docker pushes so. It ends
// when there is no room for more.
type roomy struct {
	io.ReadCloser
	gate *limits.Gate
	came int64
}

func (b *roomy) Read(p []byte) (int, error) {
	if b.came >= askAfter {
		if err := b.gate.Room(askAfter); err != nil {
			return 0, err
		}
		b.came = 0
	}
	n, err := b.ReadCloser.Read(p)
	b.came += int64(n)
	return n, err
}

// admit asks for room before the first byte; the length may be unknown (-1).
func admit(gate *limits.Gate, length int64) error {
	if err := gate.Size(length); err != nil {
		return err
	}
	return gate.Room(max(length, 0))
}

func refuseWrite(w http.ResponseWriter, err error) {
	var refusal *limits.Refusal
	if errors.As(err, &refusal) {
		registryError(w, refusal.Status, "DENIED", refusal.Text)
		return
	}
	registryError(w, http.StatusInternalServerError, "UNKNOWN", "the depot cannot measure its storage")
}

// registryError answers as the OCI distribution specification has it.
func registryError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []map[string]string{{"code": code, "message": message}}}) // the client may be gone
}
