package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

// problem is the body of every error, in the form of RFC 9457.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// statusOf maps errors to HTTP statuses. Any error that it does not list is an error of the depot
// itself and has status 500.
func statusOf(err error) int {
	var offset *uploads.OffsetError
	var digest *uploads.DigestError
	var invalid *uploads.InvalidError
	var refusal *limits.Refusal
	var refused interface{ Refused() }
	var form *formError
	var unavailable *unavailableError
	switch {
	case errors.As(err, &refusal):
		return refusal.Status
	case errors.As(err, &form):
		return form.status
	case errors.As(err, &invalid):
		return http.StatusBadRequest
	case errors.As(err, &digest), errors.As(err, &refused), errors.Is(err, uploads.ErrComplete):
		return http.StatusUnprocessableEntity
	case errors.Is(err, uploads.ErrFinishing):
		return http.StatusLocked
	case errors.As(err, &offset), errors.Is(err, uploads.ErrExists), errors.Is(err, uploads.ErrInterrupted), errors.Is(err, uploads.ErrLocked), errors.Is(err, store.ErrCollecting):
		return http.StatusConflict
	case errors.Is(err, uploads.ErrRecovering), errors.As(err, &unavailable):
		return http.StatusServiceUnavailable
	case errors.Is(err, uploads.ErrNotFound), errors.Is(err, errNoNode):
		return http.StatusNotFound
	case errors.Is(err, uploads.ErrBody):
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// retryAfter is the value of Retry-After, in seconds.
const retryAfter = "10"

// worthRetrying reports whether the same request may succeed later without any change by the client
// or an operator.
func worthRetrying(code int, err error) bool {
	return code == http.StatusServiceUnavailable || errors.Is(err, uploads.ErrLocked) || errors.Is(err, uploads.ErrInterrupted) || errors.Is(err, store.ErrCollecting)
}

// formError is the error for a malformed request.
type formError struct {
	status int
	text   string
}

func (e *formError) Error() string { return e.text }

func unreadable(format string, args ...any) error {
	return &formError{http.StatusUnprocessableEntity, fmt.Sprintf(format, args...)}
}

func bad(format string, args ...any) error {
	return &formError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// fail answers with an error.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	code := statusOf(err)
	var offset *uploads.OffsetError
	if errors.As(err, &offset) {
		w.Header().Set("Upload-Offset", strconv.FormatInt(offset.Want, 10))
	}
	if code == http.StatusInternalServerError {
		a.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if worthRetrying(code, err) {
		w.Header().Set("Retry-After", retryAfter)
	}
	text := detail(code, err)
	a.refuse(w, r, code, text)
}

func (a *api) refuse(w http.ResponseWriter, _ *http.Request, code int, text string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(problem{http.StatusText(code), code, text}) // the client may be gone
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// tusError converts an error into an error with which the tus handler answers.
func (a *api) tusError(err error) error {
	if err == nil {
		return nil
	}
	code := statusOf(err)
	if code == http.StatusInternalServerError {
		a.log.Error("upload failed", "error", err)
	}
	answer := handler.NewError("ERR_DEPOT", detail(code, err), code)
	if worthRetrying(code, err) {
		answer.HTTPResponse.Header["Retry-After"] = retryAfter
	}
	return answer
}

// detail returns the text for the client. If the error is the depot's own (status 500), the text
// states the cause only for a damaged artifact, since the client can delete that.
func detail(code int, err error) string {
	var damaged *store.DamagedError
	if code == http.StatusInternalServerError && !errors.As(err, &damaged) {
		return "the depot failed to handle this request: see its log for the reason"
	}
	return err.Error()
}

// scope returns the owner and the cluster in a path that has no image, after it has checked them.
func scope(r *http.Request) (owner, cluster string, err error) {
	owner, cluster = r.PathValue("owner"), r.PathValue("cluster")
	if err := protocol.CheckScope(owner, cluster); err != nil {
		return "", "", bad("%v", err)
	}
	return owner, cluster, nil
}
