package packages

import "context"

type contextKey struct{}

// With adds a watcher, which all controllers of the process share.
func With(ctx context.Context) context.Context { return context.WithValue(ctx, contextKey{}, New()) }

// Get returns the watcher of the context. Without one, the result is a watcher of its own.
func Get(ctx context.Context) *Watcher {
	if w, ok := ctx.Value(contextKey{}).(*Watcher); ok {
		return w
	}
	return New()
}
