// Package conformance runs the conformance suite of the OCI distribution specification against
// cmd/depot, with all four workflows: pull, push, content discovery and content management. It runs
// the suite at the local listener, and at the TLS listener with a token as the password.
//
//	go test -tags integration ./test/conformance
//
// This is the suite of 2023, the newest that is available as a Go module. The suite of 2026 is a
// program whose version is not pinned (docs/decisions explains why). To run it, name the program:
//
//	CONFORMANCE_SUITE=PROGRAM go test -tags integration,newest ./test/conformance -run Newest
//
// The suite accepts any certificate. test/clients tests that clients must trust the depot's CA. The
// suite is pinned in a separate module, modules/suite, so that the product's go.mod does not
// contain its dependencies. The tests need the prerequisites of test/clients/listeners, and fail
// without them.
package conformance
