package appcluster

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// checkMark checks that the mark on the machine is that of this Provisioning. The pinned SSH host key does
// not show this: a machine that has left the cluster keeps its key, and another Provisioning can have
// claimed it. If the mark is lost, the cluster is known by its CA only.
func checkMark(ctx context.Context, in Input, conn node.Connection, master contract.Node) error {
	const step = "find out whose the machine is"
	ctx, cancel := context.WithTimeout(ctx, in.Limit)
	defer cancel()
	user, err := machine.UsedBy(ctx, node.Shell(in.Request, conn))
	if err != nil {
		return &task.Error{Reason: node.Reason(err), Host: master.Name, Step: step, Err: err}
	}
	switch ours := in.Request.User(); {
	case user.UID == ours.UID && ours.UID != "":
		return nil
	case user == contract.User{} && in.Request.ClusterCA != "":
		return nil
	case user == contract.User{}:
		err = fmt.Errorf("the machine of %s at %s does not say whose it is, and there is no kubeconfig of the cluster with whose CA its own could be compared, "+
			"so its cluster is not used. If it has the cluster of this Provisioning, run there as root: mkdir -p /etc/bpa && echo %s | base64 -d >/etc/bpa/used-by",
			master.Name, master.Address, base64.StdEncoding.EncodeToString([]byte(ours.String())))
	default:
		whose := "Provisioning"
		if user.Cluster() == ours.Cluster() {
			whose = "an earlier Provisioning"
		}
		err = fmt.Errorf("the machine of %s at %s belongs to %s %q, so its cluster is not used. Remove %s from the spec, or put its host into quarantine so that another one replaces it",
			master.Name, master.Address, whose, user.Cluster(), master.Name)
	}
	return &task.Error{Reason: contract.ReasonHostOccupied, Host: master.Name, Step: step, Err: err}
}

// checkCA checks that admin.conf trusts a certificate of the CA that the stored kubeconfig trusts, if there
// is one.
func checkCA(in Input, admin *admin, master contract.Node) error {
	known := certificates([]byte(in.Request.ClusterCA))
	same := func(c *x509.Certificate) bool { return slices.ContainsFunc(known, c.Equal) }
	if len(known) == 0 || slices.ContainsFunc(certificates(admin.ca), same) {
		return nil
	}
	return &task.Error{Reason: contract.ReasonHostOccupied, Host: master.Name, Step: "compare the CA of the cluster", Err: fmt.Errorf(
		"the cluster on the machine of %s at %s has another CA than the stored kubeconfig, so it is not used. If you have replaced the CA of this cluster, "+
			"delete the Secrets %s and %s, then retry", master.Name, master.Address,
		contract.KubeconfigName(in.Request.Provisioning), contract.HealthKubeconfigName(in.Request.Provisioning))}
}

// certificates returns the certificates of a PEM text.
func certificates(text []byte) (all []*x509.Certificate) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, c)
		}
	}
	return all
}
