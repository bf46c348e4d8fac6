// Package deadline bounds how long the peer of a request may let the server
// wait. The timeouts of net/http bound a whole request, and an OS image over a
// thin line takes hours; so time is granted by the bytes that move.
//
// Invariant: whatever a handler does, or leaves undone, with a request's body
// and response, no read or write of the connection is without a deadline while
// the request is served, its body is drained or its response is flushed.
//
// It knows HTTP only, and must not import other packages of the depot.
package deadline
