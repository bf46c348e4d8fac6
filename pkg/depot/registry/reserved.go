package registry

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// protectReserved keeps clients of the registry out of the repositories in which the
// depot keeps what /v1 is for.
func protectReserved(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !reads && strings.HasPrefix(r.URL.Path, "/v2/"+protocol.ReservedPrefix) {
			registryError(w, http.StatusForbidden, "DENIED", "repositories under "+protocol.ReservedPrefix+" are written through /v1 only")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// registryError answers as the OCI distribution specification has it.
func registryError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []map[string]string{{"code": code, "message": message}}}) // the client may be gone
}
