package registry

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// protectReserved answers 403 to writes to the repositories in which the depot stores the artifacts
// and reports of /v1. Reads pass.
func protectReserved(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !reads && strings.HasPrefix(r.URL.Path, "/v2/"+protocol.ReservedPrefix) {
			registryError(w, http.StatusForbidden, "DENIED", "repositories under "+protocol.ReservedPrefix+" are read-only here: upload artifacts to /v1 instead")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// registryError answers in the error format of the OCI distribution specification.
func registryError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"errors": []map[string]string{{"code": code, "message": message}}}) // the client may have disconnected
}
