// Package clients tests the depot with the registry clients that users and nodes run: crane,
// skopeo, oras and containerd. They push, pull by tag and by digest, copy, list and delete an image
// of two architectures. They do this at the local listener, and at the TLS listener with the
// depot's CA and a token. They also read at the plain listener.
//
//	go test -tags integration ./test/clients
//
// The tests build crane and oras from their modules. containerd is that of the bootstrap machine.
// skopeo is a Debian package, which the tests install if it is missing. The tests need root (for
// containerd) and the prerequisites of test/clients/listeners, and fail without them.
package clients
