package collectkubeconfig

import (
	"context"
	"crypto/x509"

	"github.com/akraino-icn/bpa/pkg/access"
	clusteraccess "github.com/akraino-icn/bpa/pkg/access/cluster"
	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// sign gives the user of the request its rights, lets the cluster sign the request, and verifies the
// certificate. Only a user of BPA gets rights.
func sign(ctx context.Context, in Input, entry *appcluster.Entry, request *x509.CertificateRequest) (*x509.Certificate, error) {
	client := clusteraccess.New(entry.Kube, in.Request.Provisioning)
	u, ours := access.ParseUser(request.Subject.CommonName)
	if ours && u.Kind == access.Admin && len(request.Subject.Organization) == 0 {
		if err := client.Bind(ctx, u); err != nil {
			return nil, task.Because(appcluster.Reason(err), err)
		}
	}
	signed, err := client.Sign(ctx, request, in.SignLimit)
	if err != nil {
		return nil, task.Because(appcluster.Reason(err), err)
	}
	return signed, nil
}
