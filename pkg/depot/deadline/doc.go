// Package deadline limits how long a client may let the server wait during a request. The timeouts
// of net/http apply to a whole request, and an OS image over a slow network takes hours. This
// package therefore extends the deadline with each byte that is transferred.
//
// Invariant: every read and write of the connection has a deadline while the request is served, its
// body is drained and its response is flushed. This holds whatever a handler does with the body and
// the response.
//
// The package must not import other packages of the depot: it depends on HTTP only.
package deadline
