package registry

import (
	"bytes"
	"net/http"
)

// bufferedResponse keeps an answer in memory until send is called. It is for short answers only.
type bufferedResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func serveBuffered(h http.Handler, r *http.Request) *bufferedResponse {
	answer := &bufferedResponse{header: http.Header{}}
	h.ServeHTTP(answer, r)
	if answer.status == 0 {
		answer.status = http.StatusOK
	}
	return answer
}

func (a *bufferedResponse) Header() http.Header { return a.header }

func (a *bufferedResponse) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *bufferedResponse) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

func (a *bufferedResponse) send(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may have disconnected
}
