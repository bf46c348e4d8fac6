package registry

import (
	"context"
	"io"
	"log/slog"

	"github.com/sirupsen/logrus"
)

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
