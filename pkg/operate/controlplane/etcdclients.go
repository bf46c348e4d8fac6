package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
)

// RemoveEtcdClients removes the etcd client certificates, and their keys, from those of the nodes that are workers only. With
// flannel, kubespray creates one for each worker (install_etcd.yml), although flannel uses the API server and not etcd. With
// it, root on a worker can read and write everything in etcd, and so has the whole cluster. The first member of etcd keeps
// a copy, so kubespray creates no other one. The next playbook on a worker copies it there again, so RemoveEtcdClients
// follows each playbook.
func RemoveEtcdClients(ctx context.Context, in session.Input, key ssh.Key, pins ssh.Pins, nodes []contract.Node, ports session.Ports) error {
	folder := etcdClientsFolder(in.Request)
	workers := slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool {
		return folder == "" || slices.Contains(n.Roles, contract.RoleControlPlane)
	})
	errs := make([]error, len(workers))
	session.Each(len(workers), func(i int) {
		n := workers[i]
		err := session.OnMachine(ctx, in, n, key, pins.Of(n.HostUID), ports, func(ctx context.Context, sh machine.Shell) error {
			_, err := sh(ctx, "rm -f "+folder+"/node-*.pem")
			return err
		})
		if err != nil {
			errs[i] = etcdClientsError(n, "remove the etcd client certificate", err)
		}
	})
	return errors.Join(errs...)
}

// plainFolder matches a path that needs no quotes in a shell.
var plainFolder = regexp.MustCompile(`^/[A-Za-z0-9._/-]+$`)

// etcdClientsFolder returns the folder of the etcd client certificates; "" if workers get none, or need them: cilium and
// calico can be set up to use etcd.
func etcdClientsFolder(r contract.Request) string {
	if r.NetworkPlugin != "flannel" || r.SetsVar("cilium_deploy_additionally") {
		return ""
	}
	folder := strings.TrimSuffix(etcd.HostCertificates, "/")
	var set string
	if json.Unmarshal(r.Vars["etcd_cert_dir"], &set) == nil && set != "" {
		folder = set
	} else if json.Unmarshal(r.Vars["etcd_config_dir"], &set) == nil && set != "" {
		folder = path.Join(set, "ssl")
	}
	if !plainFolder.MatchString(folder) { // a template
		return ""
	}
	return folder
}
