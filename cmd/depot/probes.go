package main

import "net/http"

// probeBounds are enough for a few supervisors, each of which probes now and then.
var probeBounds = bounds{most: 64, each: 8}

// probesOnly returns the handler of the probe listener. It serves only the health probes, and
// closes the connection after each answer.
func probesOnly(store http.Handler) http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			store.ServeHTTP(w, r)
		})
	}
	return mux
}
