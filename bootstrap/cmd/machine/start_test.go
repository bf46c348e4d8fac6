package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

// An operator stops and starts components on a machine that has neither the source nor Go. The components are
// stand-ins, and the supervisor runs in this process: start and stop without a name change the whole machine.
func TestComponentsAreControlledWithoutTheSource(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	t.Chdir(t.TempDir())
	if _, err := runCommand(t, l, "stop", "depot"); err == nil || !strings.Contains(err.Error(), "start it with `machine start`") {
		t.Errorf("without a supervisor: %v", err)
	}
	plan := supervisor.Plan{Components: []supervisor.Component{
		{Name: "etcd", Args: []string{"/bin/sleep", "1000"}},
		{Name: "kube-apiserver", Args: []string{"/bin/sleep", "1000"}, Needs: []string{"etcd"}},
	}}
	if err := plan.Write(paths(l).Plan); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- supervisor.Serve(ctx, paths(l), supervisor.Hooks{}) }()
	t.Setenv("PATH", "/none")
	for _, c := range []struct {
		command string
		fails   string
	}{
		{"status --wait", ""},
		{"stop etcd", ""},
		{"status --wait --timeout 10ms", "2 components are not ready"},
		{"start kube-apiserver", ""},
		{"status", ""},
		{"restart etcd", ""},
		{"status", ""},
		{"stop etdc", `no component "etdc"; the components are etcd, kube-apiserver`},
	} {
		_, err := runCommand(t, l, strings.Fields(c.command)...)
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("machine %s: %v, want %q", c.command, err, c.fails)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAMachineThatIsNotSetUpIsNotStarted(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	if err := l.Claim(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"start", "restart", "supervise"} {
		if _, err := runCommand(t, l, command); err == nil || !strings.Contains(err.Error(), "run `machine up` in a checkout of the source") {
			t.Errorf("machine %s: %v", command, err)
		}
	}
}

func TestUnitOfAnotherMachineIsKept(t *testing.T) {
	dir := t.TempDir()
	s := host.Systemd{Runtime: dir, File: filepath.Join(dir, "bpa-machine.service"), Unit: "bpa-machine.service"}
	other := config.Unit(layout.Layout{Root: "/srv/bpa"})
	write(t, s.File, other)
	l := layout.Layout{Root: "/var/lib/bpa"}
	if _, err := installUnit(t.Context(), s, l); err == nil || !strings.Contains(err.Error(), "another state folder") {
		t.Errorf("%v", err)
	}
	if have, err := os.ReadFile(s.File); err != nil || string(have) != other {
		t.Errorf("the unit was changed (%v)", err)
	}
	if got := afterReboot(s, l); !strings.Contains(got, "does not start by itself") {
		t.Error(got)
	}
	if got := afterReboot(s, layout.Layout{Root: "/srv/bpa"}); !strings.Contains(got, "starts after a reboot") {
		t.Error(got)
	}
	s.Runtime = "/none"
	if remark, err := installUnit(t.Context(), s, l); err != nil || !strings.Contains(remark, "no systemd runs here") {
		t.Errorf("without systemd: %q, %v", remark, err)
	}
}

// A machine that runs for years renews its certificates and the administrator's kubeconfig.
func TestCertificatesAreRenewedWithoutUp(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := pki.Ensure(l.PKI(), identity(l), began); err != nil {
		t.Fatal(err)
	}
	write(t, l.Kubeconfig(), "old")
	for year := range 8 {
		if changed, err := renew(l, began.AddDate(year+1, 0, 0)); err != nil || !changed {
			t.Errorf("year %d: changed %t, %v", year, changed, err)
		}
	}
	have, err := os.ReadFile(l.Kubeconfig())
	want, _ := os.ReadFile(pki.Kubeconfig(l.PKI(), "admin"))
	if err != nil || string(have) != string(want) {
		t.Errorf("the administrator's kubeconfig has the old certificate (%v)", err)
	}
	if changed, err := renew(l, began.AddDate(8, 1, 0)); err != nil || changed {
		t.Errorf("a month later: changed %t, %v", changed, err)
	}
}
