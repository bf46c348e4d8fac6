package depot

import (
	"io"
	"log/slog"
	"net/http"
	"time"
)

// logged logs each request: at error level if the depot failed (status 5xx), else at debug level.
// Wrong requests and absent artifacts are normal traffic.
func logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		s := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(s, r)
		level := slog.LevelDebug
		if s.status >= http.StatusInternalServerError {
			level = slog.LevelError
		}
		log.Log(r.Context(), level, "request", "method", r.Method, "path", r.URL.Path,
			"status", s.status, "from", r.RemoteAddr, "took", time.Since(started).Round(time.Millisecond))
	})
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

// Unwrap lets http.ResponseController reach the connection.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *statusWriter) WriteHeader(code int) {
	s.status = code
	s.ResponseWriter.WriteHeader(code)
}

// ReadFrom implements io.ReaderFrom, so that io.Copy can still use sendfile.
func (s *statusWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(s.ResponseWriter, r) }
