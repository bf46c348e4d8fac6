// Package integration tests BPA's kinds against a real API server: schema, defaults, refusals and columns, as a person sees them in
// kubectl. The webhook and the controller are the real programs with the rights that config/ gives them; only the webhook's Service points to
// loopback.
//
//	go test -tags integration ./test/integration/...
//
// It needs etcd, kube-apiserver, kubectl and machine in $BPA_STATE/bin (make integration builds them) and fails without.
package integration
