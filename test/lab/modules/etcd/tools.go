//go:build tools

// Package etcd pins the version of the etcd programs that kubespray installs with
// etcd_deployment_type host.
package etcd

import (
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/etcdutl/v3"
	_ "go.etcd.io/etcd/server/v3"
)
