package restore

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

// detach starts etcd and the API server on the new state, at free ports of loopback that no other program knows, and
// detaches the hosts.
func (r Restore) detach(ctx context.Context, report *Report) error {
	ports, err := host.FreePorts(4)
	if err != nil {
		return err
	}
	const address = "127.0.0.1"
	folder := r.Layout.RestoreDir()
	control := config.ControlPlane{
		Bin: r.Layout.Bin, PKI: filepath.Join(folder, unpacked, "state", "pki"), Data: folder, Admission: filepath.Join(folder, "admission.yaml"),
		Audit: filepath.Join(folder, "audit.yaml"), AuditLog: filepath.Join(folder, "audit.log"),
		EtcdPort: ports[0], EtcdPeer: ports[1], EtcdHealth: ports[2], Address: address, Port: ports[3], ServiceCIDR: r.Layout.Net().Services.String(), Alone: true,
	}
	if err := config.Write(control.Files()); err != nil {
		return err
	}
	s := supervisor.New(r.Layout.Log("restore"))
	defer s.Stop()
	if err := s.Apply(supervisor.Plan{Components: []supervisor.Component{control.Etcd(), control.APIServer()}}); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := s.AwaitReady(wait); err != nil {
		return err
	}
	api, err := kubernetes.NewClient("https://"+net.JoinHostPort(address, ports[3]), control.PKI)
	if err != nil {
		return err
	}
	if report.Hosts, err = DetachAll(ctx, api, r.Now); err != nil {
		return err
	}
	report.Paused, report.Deleting, err = PauseAll(ctx, api, r.Now)
	return err
}
