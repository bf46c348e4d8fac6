package registry

import (
	"context"
	"io"
	"log/slog"

	"github.com/sirupsen/logrus"
)

// RedirectLog sends the registry library's messages to log. The library uses the process-wide
// logger of logrus, so only a main function should call RedirectLog, once.
func RedirectLog(log *slog.Logger) {
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.WarnLevel)
	logrus.StandardLogger().ReplaceHooks(logrus.LevelHooks{})
	logrus.AddHook(slogHook{log})
}

type slogHook struct{ log *slog.Logger }

func (slogHook) Levels() []logrus.Level { return logrus.AllLevels }

// Fire logs an entry with its error fields and drops the library's many request fields. An entry
// with an error code other than "unknown" is an answer to a client, such as an absent blob. The
// depot logs every request, so Fire logs such an entry at debug level only.
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
