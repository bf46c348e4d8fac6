//go:build integration

package vip

import (
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

const address = "10.97.0.100"

// await waits for a condition, and returns for how long.
func await(t *testing.T, what string, limit time.Duration, done func() bool) time.Duration {
	t.Helper()
	begin, tick := time.Now(), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for !done() {
		if time.Since(begin) > limit {
			t.Fatalf("%s: not within %s", what, limit)
		}
		<-tick.C
	}
	took := time.Since(begin)
	t.Logf("%s: after %s", what, took.Round(10*time.Millisecond))
	return took
}

// TestRealKeepalived moves the address between two machines: nobody has it before an API server works, another machine has it
// within 5 s after the API server or the link of its holder fails, and a machine that leaves gives it up.
func TestRealKeepalived(t *testing.T) {
	planes := []contract.Node{{Name: "m-1", Address: "10.97.0.11"}, {Name: "m-2", Address: "10.97.0.12"}}
	client, machines := network(t, planes...)
	first, second := machines[0], machines[1]
	at := func(m *machine) func() bool { return func() bool { return answering(client) == m.node.Name } }

	first.write(planes[0])
	await(t, "keepalived sees that no API server works", 10*time.Second, first.logged("failed"))
	if first.has() {
		t.Error("a machine whose API server does not work has the address")
	}
	first.serve()
	await(t, "the first API server has the address", 10*time.Second, at(first))

	if first.logged("multicast")() {
		t.Error("the only control plane sends to everybody on the network")
	}

	second.serve()
	first.write(planes...) // as before the second one joins
	second.write(planes...)
	await(t, "the second machine takes part", 10*time.Second, second.logged("succeeded"))
	for range 3 { // each sends a SIGHUP
		first.write(planes...)
		if !first.has() || second.has() {
			t.Error("a new configuration moves the address")
		}
	}

	for _, m := range machines {
		m.loseLeader(true)
	}
	await(t, "etcd has no leader", 10*time.Second, first.logged("Script `etcd` now returning 22"))
	if !first.has() || second.has() {
		t.Error("an election of etcd moves the address")
	}
	await(t, "etcd has no leader for long", 40*time.Second, func() bool { return !first.has() && !second.has() })
	for _, m := range machines {
		m.loseLeader(false)
	}
	await(t, "etcd has a leader again", 10*time.Second, func() bool { return first.has() != second.has() })
	if second.has() {
		first, second = second, first
	}

	first.fail()
	await(t, "the API server of the holder has failed", 5*time.Second, at(second))
	first.serve()
	command(t, "ip", "-n", client, "link", "set", second.port, "down")
	await(t, "the holder is cut off", 10*time.Second, at(first)) // with the time in which the check of the first one succeeds again
	command(t, "ip", "-n", client, "link", "set", second.port, "up")
	await(t, "one of two holders has given it up", 10*time.Second, func() bool { return first.has() != second.has() && answering(client) != "" })

	leaves, stays := first, second
	if second.has() {
		leaves, stays = second, first
	}
	if out, err := leaves.run("pkill -KILL -x keepalived; rm -f /run/*.pid"); err != nil {
		t.Fatalf("kill keepalived: %v: %s", err, out)
	}
	await(t, "the keepalived of the holder was killed", 5*time.Second, at(stays))
	leaves.keepalived = nil
	leaves.write(planes...) // the kubelet starts it again, with another /dev
	await(t, "a keepalived that was killed leaves no address", 10*time.Second, func() bool { return stays.has() && !leaves.has() })
	leaves, stays = stays, leaves
	for range 2 { // twice equals once
		if out, err := leaves.run(Stop()); err != nil {
			t.Fatalf("stop: %v: %s", err, out)
		}
	}
	await(t, "the holder has left", 5*time.Second, at(stays))
	if leaves.has() {
		t.Error("a machine that has left has the address")
	}
	if out, err := leaves.run("pgrep -x keepalived; cat " + folder + "/address"); err != nil || strings.TrimSpace(out) != address {
		t.Errorf("after the end: %q, %v; want no process, and the address for the reset", out, err)
	}
}

// TestAnAddressOfTheSite: a machine that has the address without BPA is not changed.
func TestAnAddressOfTheSite(t *testing.T) {
	_, machines := network(t, contract.Node{Name: "m-1", Address: "10.97.0.11"})
	m := machines[0]
	command(t, "ip", "-n", m.netns, "addr", "add", address+"/24", "dev", "eth0")
	script, err := Write(&contract.API{Address: address, Port: 6443, Virtual: true}, m.node, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := m.run(script); err == nil || !strings.Contains(out, "has the address "+address+" already") {
		t.Errorf("it gets the address nevertheless: %v: %s", err, out)
	}
	if out, err := m.run("[ ! -e " + folder + " ] && [ ! -e /etc/kubernetes/manifests/bpa-keepalived.yaml ]"); err != nil {
		t.Errorf("it is changed: %s", out)
	}
}
