// Package conformance runs the OCI distribution specification's own conformance suite, all four workflows of it (pull, push, content discovery,
// content management), against cmd/depot: at the local door, and at the TLS door with a token as the password.
//
//	go test -tags integration ./test/conformance
//
// That is the suite of 2023, the newest whose module could be had. The one of 2026 is a program that is not pinned (docs/decisions says why): who has it
// names it.
//
//	CONFORMANCE_SUITE=PROGRAM go test -tags integration,newest ./test/conformance -run Newest
//
// The suite takes any certificate; that clients must trust the depot's authority, test/clients shows. It is pinned by a module of its own in
// modules/suite, so that what it needs stays out of the product's. It needs what test/clients/listeners needs, and fails without.
package conformance
