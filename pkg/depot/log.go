package depot

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
)

// logged reports failures of the depot itself; what clients got wrong or did
// not find is normal traffic and appears only at debug level.
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

// ReadFrom passes on what io.Copy looks for, so that sendfile stays possible.
func (s *statusWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(s.ResponseWriter, r) }

// RedirectLog sends the registry library's messages to log. The library logs
// through logrus' process-wide logger, so this is for a main to call, once.
func RedirectLog(log *slog.Logger) {
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.WarnLevel)
	logrus.StandardLogger().ReplaceHooks(logrus.LevelHooks{})
	logrus.AddHook(slogHook{log})
}

type slogHook struct{ log *slog.Logger }

func (slogHook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire drops the library's many request fields but keeps what went wrong. It
// calls a blob that is merely absent an error; with a code other than unknown
// it is an answer to a client, and logged shows that.
func (h slogHook) Fire(e *logrus.Entry) error {
	level := slog.LevelWarn
	if e.Level <= logrus.ErrorLevel {
		level = slog.LevelError
	}
	var attrs []slog.Attr
	for _, key := range []string{"err.code", "err.detail", "err.message", logrus.ErrorKey} {
		if v, ok := e.Data[key]; ok {
			attrs = append(attrs, slog.Any(key, v))
		}
	}
	if code, ok := e.Data["err.code"]; ok && code != "unknown" {
		level = slog.LevelDebug
	}
	h.log.LogAttrs(context.Background(), level, "registry: "+e.Message, attrs...)
	return nil
}
