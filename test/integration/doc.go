// Package integration tests BPA's kinds against a real API server: schema, defaults, rejections and
// columns, as a user sees them in kubectl. It also tests claims, the users of kubeconfigs, the depot,
// Metal3 and Ironic. The webhook, the controller and the depot are the real programs with the
// permissions in config/. Only the webhook's Service differs: it points to loopback.
//
//	go test -tags integration ./test/integration/...
//
// The tests need etcd, kube-apiserver, kube-controller-manager, kubectl and machine in $BPA_STATE/bin
// (make integration builds them), and fail without them.
package integration
