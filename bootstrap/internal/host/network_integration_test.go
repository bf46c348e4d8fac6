//go:build integration

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// namespace is a network namespace.
type namespace struct {
	t    *testing.T
	file *os.File
}

func newNamespace(t *testing.T) *namespace {
	t.Helper()
	n := &namespace{t: t}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			n.file, err = os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatalf("make a network namespace: %v (this test needs root)", err)
	}
	t.Cleanup(func() { n.file.Close() })
	n.command("ip", "link", "set", "lo", "up")
	return n
}

// do runs a function on a thread in the namespace.
func (n *namespace) do(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock it
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

func (n *namespace) command(args ...string) (out string) {
	n.t.Helper()
	if err := n.do(func() error {
		text, err := exec.CommandContext(n.t.Context(), args[0], args[1:]...).CombinedOutput()
		out = string(text)
		return err
	}); err != nil {
		n.t.Fatalf("%v: %v: %s", args, err, out)
	}
	return out
}

func (n *namespace) prepare(network layout.Network) {
	n.t.Helper()
	if err := n.do(func() error { return PrepareNetwork(n.t.Context(), network) }); err != nil {
		n.t.Fatal(err)
	}
}

// serve answers each connection to an address with the address of the client.
func (n *namespace) serve(address string) {
	n.t.Helper()
	if err := n.do(func() error {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		n.t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
				_, _ = io.WriteString(c, host)
				c.Close()
			}
		}()
		return nil
	}); err != nil {
		n.t.Fatal(err)
	}
}

// ask connects to an address and returns the answer of serve; empty: there is none within half a second.
func (n *namespace) ask(address string) (answer string) {
	_ = n.do(func() error {
		ctx, cancel := context.WithTimeout(n.t.Context(), 500*time.Millisecond)
		defer cancel()
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		text, err := io.ReadAll(c)
		answer = string(text)
		return err
	})
	return answer
}

// cable connects two namespaces.
func (n *namespace) cable(name, address string, to *namespace, toAddress, gateway string) {
	n.t.Helper()
	n.command("ip", "link", "add", name, "type", "veth", "peer", "name", "peer0")
	if err := n.do(func() error { // by the descriptor, since the namespace has no name
		return exec.Command("ip", "link", "set", "peer0", "netns", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), to.file.Fd())).Run()
	}); err != nil {
		n.t.Fatal(err)
	}
	if address != "" {
		n.command("ip", "address", "add", address, "dev", name)
	}
	n.command("ip", "link", "set", name, "up")
	to.command("ip", "link", "set", "peer0", "name", "eth0")
	to.command("ip", "address", "add", toAddress, "dev", "eth0")
	to.command("ip", "link", "set", "eth0", "up")
	to.command("ip", "route", "add", "default", "via", gateway)
}

func siteNetwork() layout.Network {
	return layout.Network{
		Pods: netip.MustParsePrefix("10.90.0.0/24"), Services: netip.MustParsePrefix("10.91.0.0/16"),
		Site: layout.Link{Interface: "site0", Address: netip.MustParseAddr("192.0.2.10"), Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}},
		BMC:  layout.Link{Interface: "bmc0", Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}},
	}
}

// TestNetworksAreKeptApart has a machine, a pod, a server, a BMC and a computer of the Internet in network namespaces. Each tries to reach
// what it may and what it may not. The server and the BMC use the machine as their router, so that only the firewall is in their way.
func TestNetworksAreKeptApart(t *testing.T) {
	machine, pod, server, bmc, internet := newNamespace(t), newNamespace(t), newNamespace(t), newNamespace(t), newNamespace(t)
	network := siteNetwork()
	machine.cable("site0", "192.0.2.10/24", server, "192.0.2.20/24", "192.0.2.10")
	machine.cable("bmc0", "198.51.100.10/24", bmc, "198.51.100.20/24", "198.51.100.10")
	machine.cable("wan0", "203.0.113.10/24", internet, "203.0.113.20/24", "203.0.113.10")
	machine.prepare(network)
	machine.cable("veth0", "", pod, "10.90.0.20/24", "10.90.0.1")
	machine.command("ip", "link", "set", "veth0", "master", layout.Bridge)

	for _, port := range []string{"5000", "5443", "6443", "10250"} {
		machine.serve("10.90.0.1:" + port)
	}
	pod.serve(":80")
	server.serve(":22")
	bmc.serve(":443")
	internet.serve(":443")

	type way struct {
		who    *namespace
		name   string
		to     string
		answer string // the address that the other side sees; empty: there is no way
	}
	ways := []way{
		{pod, "pod", "10.90.0.1:6443", "10.90.0.20"},
		{pod, "pod", "192.0.2.20:22", "192.0.2.10"},        // with the address of the machine
		{pod, "pod", "198.51.100.20:443", "198.51.100.10"}, // the same
		{pod, "pod", "192.0.2.10:5443", "10.90.0.20"},      // what the nodes get as address of the depot
		{pod, "pod", "203.0.113.20:443", ""},
		{machine, "machine", "10.90.0.20:80", "10.90.0.1"},
		{machine, "machine", "192.0.2.20:22", "192.0.2.10"},
		{machine, "machine", "203.0.113.20:443", "203.0.113.10"},
		{server, "server", "192.0.2.10:5443", "192.0.2.20"},
		{server, "server", "192.0.2.10:5000", "192.0.2.20"},
		{server, "server", "192.0.2.10:6443", ""},
		{server, "server", "192.0.2.10:10250", ""},
		{server, "server", "198.51.100.20:443", ""}, // the machine is no router
		{bmc, "BMC", "192.0.2.20:22", ""},
		{bmc, "BMC", "192.0.2.10:5443", ""}, // not by this link
		{bmc, "BMC", "198.51.100.10:5443", ""},
		{internet, "Internet", "192.0.2.10:5443", ""},
	}
	for _, outside := range []way{{server, "server", "", ""}, {bmc, "BMC", "", ""}, {internet, "Internet", "", ""}} {
		for _, to := range []string{"10.90.0.1:5000", "10.90.0.1:5443", "10.90.0.1:6443", "10.90.0.1:10250", "10.90.0.20:80", "10.91.0.1:443"} {
			ways = append(ways, way{outside.who, outside.name, to, ""})
		}
	}
	try := func(when string) {
		t.Helper()
		for _, w := range ways {
			if got := w.who.ask(w.to); got != w.answer {
				t.Errorf("%s: %s -> %s: the other side saw %q, want %q", when, w.name, w.to, got, w.answer)
			}
		}
	}
	// Without the firewall there are ways that must not be, so the test can fail.
	machine.command("nft", "delete", "table", "inet", table)
	for _, w := range []way{{server, "server", "10.90.0.1:6443", "192.0.2.20"}, {bmc, "BMC", "10.90.0.20:80", "198.51.100.20"}, {server, "server", "198.51.100.20:443", "192.0.2.20"}} {
		if got := w.who.ask(w.to); got != w.answer {
			t.Errorf("without the firewall: %s -> %s: the other side saw %q, want %q", w.name, w.to, got, w.answer)
		}
	}
	machine.prepare(network)
	try("with the firewall")

	machine.command("nft", "flush", "ruleset") // as the firewall of a site does when it starts
	if err := machine.do(func() error { return CheckFirewall(t.Context(), network) }); err == nil {
		t.Error("CheckFirewall has not seen that the rules are gone")
	}
	machine.prepare(network)
	try("after the firewall of the site has flushed all rules")

	network.ServeAPI = true
	machine.prepare(network)
	if got := server.ask("192.0.2.10:6443"); got != "192.0.2.20" {
		t.Errorf("an API server for the site is not reached: %q", got)
	}
	if err := machine.do(func() error { return CheckFirewall(t.Context(), network) }); err != nil {
		t.Error(err)
	}
	if err := machine.do(func() error { return RemoveNetwork(t.Context()) }); err != nil {
		t.Error(err)
	}
	if left := machine.command("nft", "list", "ruleset"); strings.Contains(left, "table inet "+table) {
		t.Errorf("RemoveNetwork left %s", left)
	}
}

// TestTheNetworkComesLater: the bridge and the firewall of a machine need none of the interfaces that they name.
func TestTheNetworkComesLater(t *testing.T) {
	machine, server, network := newNamespace(t), newNamespace(t), siteNetwork()
	machine.prepare(network)
	if have := machine.command("ip", "address", "show", layout.Bridge); !strings.Contains(have, network.NodeCIDR()) {
		t.Errorf("without a network, the machine has no address of its own: %s", have)
	}
	machine.serve("10.90.0.1:5443")
	machine.cable("site0", "192.0.2.10/24", server, "192.0.2.20/24", "192.0.2.10")
	if got := server.ask("192.0.2.10:5443"); got != "192.0.2.20" {
		t.Errorf("the depot does not answer at an interface that came later: %q", got)
	}
	if got := server.ask("10.90.0.1:5443"); got != "" {
		t.Errorf("the bridge can be reached from an interface that came later, from %q", got)
	}
}

// TestNetworkOfASite compares the file of a site with a machine.
func TestNetworkOfASite(t *testing.T) {
	machine, server, network := newNamespace(t), newNamespace(t), siteNetwork()
	check := func() error {
		return machine.do(func() error { return CheckSite(t.Context(), network) })
	}
	machine.cable("site0", "192.0.2.11/24", server, "192.0.2.20/24", "192.0.2.11")
	machine.command("ip", "route", "add", "10.91.7.0/24", "via", "192.0.2.20")
	err := check()
	for _, want := range []string{"interface site0 has not the address 192.0.2.10, but [192.0.2.11]", "interface bmc0: ", "services (10.91.0.0/16) would hide what this machine reaches by its route to 10.91.7.0/24 at site0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	machine.command("ip", "address", "add", "192.0.2.10/24", "dev", "site0")
	machine.command("ip", "route", "delete", "10.91.7.0/24")
	network.BMC = layout.Link{}
	machine.prepare(network)
	if err := errors.Join(check(), check()); err != nil {
		t.Errorf("a machine that fits, and that runs: %v", err)
	}
}
