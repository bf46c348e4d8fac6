//go:build e2e

package boot

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheUnit sets a machine up, and lets its systemd start it in all ways in which it has to. The machine is the same in
// all parts, so each part needs those before it.
func TestTheUnit(t *testing.T) {
	g := &guest{root: os.Getenv("BPA_BOOT_ROOT")}
	if g.root == "" {
		t.Fatal("BPA_BOOT_ROOT names no root file system: start this test by bootstrap/boot/run")
	}
	t.Cleanup(g.kill)
	for _, part := range []struct {
		name string
		test func(*testing.T, *guest)
	}{
		{"up installs the unit and systemd starts it", up},
		{"systemd starts a killed supervisor again", killed},
		{"systemd starts a supervisor that hangs again", hangs},
		{"a reboot", reboot},
		{"a reboot without a network", withoutNetwork},
		{"all processes end at once", allEnd},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(t, g) }) {
			t.Fatalf("%s failed\nThe unit: %s\nThe supervisor: %s", part.name, tail(g, "journalctl --no-pager -n 30 -u bpa-machine"), tail(g, "tail -30 /var/lib/bpa/log/supervisor.log"))
		}
	}
}

// up runs `machine up` as on a site, with Go and the source.
func up(t *testing.T, g *guest) {
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{source}
	env := "CGO_ENABLED=0 GOPROXY=off GOFLAGS='" + os.Getenv("GOFLAGS") + "'"
	for _, name := range []string{"GOROOT", "GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimSpace(string(out))
		folders, env = append(folders, folder), env+" "+name+"="+folder
		if name == "GOROOT" {
			env += " PATH=" + folder + "/bin:$PATH"
		}
	}
	g.on(t, folders...)
	t.Log(g.run(t, "cd "+source+"/bootstrap && export "+env+" && go run ./cmd/machine up --project=false"))
	if got := g.run(t, "systemctl is-enabled bpa-machine && systemctl is-active bpa-machine"); got != "enabled\nactive" {
		t.Errorf("the unit is %s", got)
	}
	if out := g.run(t, "machine status"); !strings.Contains(out, "starts after a reboot (bpa-machine.service)") {
		t.Errorf("status: %s", out)
	}
	kubectl(t, g, "create configmap survivor --from-literal=written=before")
}

// killed: the components end with the supervisor, and pods keep running.
func killed(t *testing.T, g *guest) {
	before := pods(t, g)
	pid := supervisor(t, g)
	g.run(t, "kill -KILL "+pid)
	startedAgain(t, g, pid, time.Minute)
	samePods(t, g, before)
}

// hangs: the watchdog of systemd finds a supervisor that does not answer after 3 minutes.
func hangs(t *testing.T, g *guest) {
	before := pods(t, g)
	pid := supervisor(t, g)
	g.run(t, "kill -STOP "+pid)
	startedAgain(t, g, pid, 5*time.Minute)
	if out := g.run(t, "journalctl --no-pager -u bpa-machine"); !strings.Contains(out, "Watchdog timeout (limit 3min)!") {
		t.Errorf("the watchdog has not ended the supervisor: %s", out)
	}
	samePods(t, g, before)
}

// reboot: systemd stops the machine in order, and starts it without Go, source and packages.
func reboot(t *testing.T, g *guest) {
	order := stopOrder(t, g)
	g.run(t, "for log in /var/lib/bpa/log/*.log; do : >$log; done")
	g.reboot(t)
	stoppedInOrder(t, g, order)
	began := time.Now()
	g.on(t)
	ready(t, g, began)
	if out, err := g.try(t.Context(), "command -v go"); err == nil {
		t.Errorf("the system has Go: %s", out)
	}
	if flows := g.run(t, "machine status --network"); !strings.Contains(flows, "nothing else from outside") {
		t.Errorf("the firewall is not in place: %s", flows)
	}
}

// withoutNetwork boots without any interface but those of the machine itself.
func withoutNetwork(t *testing.T, g *guest) {
	g.reboot(t)
	if err := os.Remove(filepath.Join(g.root, "etc/systemd/network/en0.network")); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	g.on(t)
	ready(t, g, began)
	if routes := g.run(t, "ip route show default"); routes != "" {
		t.Errorf("there is a network: %s", routes)
	}
}

func allEnd(t *testing.T, g *guest) {
	g.kill()
	began := time.Now()
	g.on(t)
	ready(t, g, began)
}

// ready waits until every component is ready, the node too, and a new pod runs. No hand has started the machine.
func ready(t *testing.T, g *guest, began time.Time) {
	t.Helper()
	eventually(t, 5*time.Minute, "every component is ready", func() bool {
		_, err := g.try(t.Context(), "machine status")
		return err == nil
	})
	components := time.Since(began)
	kubectl(t, g, "wait node/bootstrap --for=condition=Ready --timeout=2m")
	node := time.Since(began)
	kubectl(t, g, "-n kube-system rollout status deployment/coredns --timeout=3m")
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("after the start of systemd: components ready in %s, node Ready in %s, DNS in %s; load of this machine %s",
		components.Round(time.Second), node.Round(time.Second), time.Since(began).Round(time.Second), strings.Fields(string(load))[0])
	if got := kubectl(t, g, "get configmap survivor -o jsonpath={.data.written}"); got != "before" {
		t.Errorf("the object written before contains %q", got)
	}
}

// startedAgain waits until systemd has started another supervisor, and its components are ready.
func startedAgain(t *testing.T, g *guest, pid string, limit time.Duration) {
	t.Helper()
	began := time.Now()
	eventually(t, limit, "systemd has started another supervisor", func() bool {
		now, err := g.try(t.Context(), "systemctl is-active --quiet bpa-machine && systemctl show -P MainPID bpa-machine")
		return err == nil && now != pid && now != "0"
	})
	again := time.Since(began)
	g.run(t, "machine status --wait")
	t.Logf("another supervisor after %s, all ready after %s", again.Round(time.Second), time.Since(began).Round(time.Second))
}

// stopOrder are the components, each before those that it needs.
func stopOrder(t *testing.T, g *guest) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(g.run(t, "machine status")) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == "ready" && fields[0] != "supervisor" {
			names = append(names, fields[0])
		}
	}
	slices.Reverse(names)
	return names
}

// stoppedInOrder reads what the supervisor has written when it stopped each component. The end of a component's log is its
// time.
func stoppedInOrder(t *testing.T, g *guest, order []string) {
	t.Helper()
	if len(order) == 0 {
		t.Fatal("no component was ready")
	}
	var before time.Time
	for _, name := range order {
		path := filepath.Join(g.root, "var/lib/bpa/log", name+".log")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("supervisor: sent SIGTERM to %s,", name); strings.Count(string(text), want) != 1 {
			t.Errorf("%s was not stopped by the supervisor at the shutdown: no %q", name, want)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.ModTime().Before(before) {
			t.Errorf("%s was stopped before a component that needs it", name)
		}
		before = info.ModTime()
	}
}

func supervisor(t *testing.T, g *guest) string {
	t.Helper()
	return g.run(t, "systemctl show -P MainPID bpa-machine")
}

// pods returns the start of each container in kube-system.
func pods(t *testing.T, g *guest) string {
	t.Helper()
	out := kubectl(t, g, `-n kube-system get pods -o jsonpath='{range .items[*]}{.metadata.name} {.status.containerStatuses[*].state.running.startedAt}{"\n"}{end}'`)
	if out == "" {
		t.Fatal("no pod runs in kube-system")
	}
	return out
}

func samePods(t *testing.T, g *guest, before string) {
	t.Helper()
	if after := pods(t, g); after != before {
		t.Errorf("pods were\n%s\nand are\n%s", before, after)
	}
}

func kubectl(t *testing.T, g *guest, args string) string {
	t.Helper()
	return g.run(t, "kubectl "+args)
}

func tail(g *guest, command string) string {
	out, _ := g.try(context.Background(), command)
	return out
}
