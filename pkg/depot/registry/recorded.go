package registry

import (
	"bytes"
	"net/http"
)

// recorded is an answer that is held back until what belongs to it is done. It
// is for short ones.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func record(h http.Handler, r *http.Request) *recorded {
	answer := &recorded{header: http.Header{}}
	h.ServeHTTP(answer, r)
	if answer.status == 0 {
		answer.status = http.StatusOK
	}
	return answer
}

func (a *recorded) Header() http.Header { return a.header }

func (a *recorded) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *recorded) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

func (a *recorded) send(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may be gone
}
