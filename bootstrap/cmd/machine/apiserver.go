package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

// apiserverCommand returns the command apiserver, which integration tests use. It runs an API
// server until its standard input closes, so that the server ends when the test process ends.
func apiserverCommand(l layout.Layout) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "apiserver --dir DIR",
		Short: "Run an etcd and a kube-apiserver on free loopback ports until standard input closes",
		Long: "Run an etcd and a kube-apiserver on free loopback ports, with all their files in DIR (created if missing).\n" +
			"Prints the path of an administrator's kubeconfig, then READY. Ends when standard input closes, or on SIGTERM.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				stop()
			}()
			return serveAPI(ctx, l, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "folder for all files that the servers write (required)")
	_ = cmd.MarkFlagRequired("dir")
	return cmd
}

func serveAPI(ctx context.Context, l layout.Layout, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	ports, err := host.FreePorts(4)
	if err != nil {
		return err
	}
	const address = "127.0.0.1"
	keys := filepath.Join(dir, "pki")
	machine := pki.Machine{Node: "none", IPs: []string{address}, ServiceIP: "10.0.0.1", Server: "https://" + net.JoinHostPort(address, ports[2])}
	if err := pki.Ensure(keys, machine, time.Now()); err != nil {
		return err
	}
	control := config.ControlPlane{
		Bin: l.Bin, PKI: keys, Data: filepath.Join(dir, "data"), Admission: filepath.Join(dir, "admission.yaml"),
		Audit: filepath.Join(dir, "audit.yaml"), AuditLog: filepath.Join(dir, "log", "audit.log"),
		EtcdPort: ports[0], EtcdPeer: ports[1], EtcdHealth: ports[3], Address: address, Port: ports[2], ServiceCIDR: "10.0.0.0/24",
	}
	if err := config.Write(control.Files()); err != nil {
		return err
	}
	s := supervisor.New(filepath.Join(dir, "log"))
	defer s.Stop()
	if err := s.Apply(supervisor.Plan{Components: []supervisor.Component{control.Etcd(), control.APIServer()}}); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	if err := s.AwaitReady(wait); err != nil {
		return err
	}
	fmt.Printf("%s\nREADY\n", pki.Kubeconfig(keys, "admin"))
	<-ctx.Done()
	return nil
}
