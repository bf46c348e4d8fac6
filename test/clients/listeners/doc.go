// Package listeners starts a depot for tests. It runs cmd/depot with three listeners (local, plain,
// TLS), and a real API server that authenticates and authorizes tokens. The depot has the
// permissions in config/.
//
// The package needs etcd, kube-apiserver, kubectl and machine in $BPA_STATE/bin (make integration
// builds them). Invariant: no process outlives the test. Only tests may import the package.
package listeners
