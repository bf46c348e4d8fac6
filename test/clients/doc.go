// Package clients tries the depot with the registry clients that people and nodes use, as programs that were not made for it: crane, skopeo, oras
// and containerd push, pull by tag and by digest, copy, list and delete an image of two architectures, at the local door and over TLS with the
// depot's authority and a token; and all of them read at the plain door.
//
//	go test -tags integration ./test/clients
//
// crane and oras are built from their modules, containerd is the bootstrap machine's, skopeo is Debian's and is installed if it is missing. It needs
// root, for containerd, and what test/clients/listeners needs, and fails without.
package clients
