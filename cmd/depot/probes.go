package main

import "net/http"

// probeBounds are for a few supervisors, each of which asks now and then.
var probeBounds = bounds{most: 64, each: 8}

// probesOnly answers those who supervise the depot, each on a connection of its own.
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
