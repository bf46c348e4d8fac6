package session_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestAnotherMachineAnswers(t *testing.T) {
	const stranger = "aa:bb:cc:00:00:01"
	for _, tc := range []struct {
		name string
		with map[int]func(io.Writer) int
		says []string // of the message
	}{
		{"a reused lease", map[int]func(io.Writer) int{1: kubespraytest.Says("name db-7", "card eno1 "+stranger)},
			[]string{"host-2 at 127.0.0.2", "another machine answers: db-7 has " + stranger + "; host-2 has " + kubespraytest.MACOf(1), "Nothing was changed."}},
		{"swapped addresses", map[int]func(io.Writer) int{1: kubespraytest.Says("name m3", "card eth0 "+kubespraytest.MACOf(2)), 2: kubespraytest.Says("name m2", "card eth0 "+kubespraytest.MACOf(1))},
			[]string{"m3, which is host host-3 (node worker-2), has " + kubespraytest.MACOf(2) + "; host-2 has " + kubespraytest.MACOf(1), "1 more node failed too: worker-2."}},
		{"only a virtual interface has the address", map[int]func(io.Writer) int{1: kubespraytest.Says("name db-7", "card eno1 "+stranger, "virtual br0 "+kubespraytest.MACOf(1))},
			[]string{"db-7 has " + stranger}},
		{"only the management controller's USB card has the address", map[int]func(io.Writer) int{1: kubespraytest.Says("name db-7", "usb usb0 "+kubespraytest.MACOf(1), "card eno1 "+stranger)},
			[]string{"db-7 has " + stranger}},
		{"the address was given to another card", map[int]func(io.Writer) int{1: kubespraytest.Says("name db-7", "card eno1 "+kubespraytest.MACOf(1), "permanent eno1 "+stranger)},
			[]string{"db-7 has " + stranger}},
		{"many cards", map[int]func(io.Writer) int{1: kubespraytest.Says("name db-7", "card a "+stranger, "card b aa:bb:cc:00:00:02", "card c aa:bb:cc:00:00:03", "card d aa:bb:cc:00:00:04", "card e aa:bb:cc:00:00:05")},
			[]string{"aa:bb:cc:00:00:03 and 2 more; host-2"}},
		{"garbage", map[int]func(io.Writer) int{1: kubespraytest.Says("Welcome\x1b[31m to", "card eth0 02:zz", "name \x1b]0;evil", strings.Repeat("x", 100_000), "card lo 00:00:00:00:00:00")},
			[]string{"a machine without a valid host name reports no MAC address; host-2 has " + kubespraytest.MACOf(1)}},
		{"nothing", map[int]func(io.Writer) int{1: kubespraytest.Says()}, []string{"reports no MAC address"}},
		{"no shell", map[int]func(io.Writer) int{1: func(io.Writer) int { return 127 }}, []string{"reports no MAC address"}},
		{"no end", map[int]func(io.Writer) int{1: func(out io.Writer) int {
			for {
				if _, err := out.Write(bytes.Repeat([]byte("card eth0 "+kubespraytest.MACOf(1)+"\n"), 1000)); err != nil {
					return 0
				}
			}
		}}, []string{"the command wrote more than 262144 bytes", "host-2 has " + kubespraytest.MACOf(1)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := kubespraytest.New(t, 2)
			w.In.Request.DepotCA = kubespraytest.DepotCA
			w.Answers(tc.with)
			_, err := w.Run()
			failed := task.FailureOf(err)
			if failed.Reason != contract.ReasonWrongMachine || failed.Host != "worker-1" || failed.Reason.Transient() {
				t.Fatalf("failure %+v", failed)
			}
			for _, want := range tc.says {
				if !strings.Contains(failed.Message, want) {
					t.Errorf("message %q does not contain %q", failed.Message, want)
				}
			}
			pins, err := ssh.ParsePins(w.KnownHosts.Data[contract.KeyKnownHosts])
			if err != nil || pins.Of("uid-2") != nil || pins.Of("uid-1") == nil {
				t.Errorf("pins %v, %v; want no key of another machine", pins, err)
			}
			w.ExpectUntouched()
		})
	}
}

// Machines that were installed from the same image can have the same host key. A pinned host key
// therefore does not prove which machine answers.
func TestPinnedKeyOfAnImageIsNoProof(t *testing.T) {
	w := kubespraytest.New(t, 1)
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	w.Answers(map[int]func(io.Writer) int{1: kubespraytest.Says("name db-7", "card eno1 aa:bb:cc:00:00:01")})
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonWrongMachine {
		t.Errorf("Run: %v", err)
	}
}

// If a connection breaks during the check, the error is not that the machine is the wrong one.
func TestConnectionLostWhileTheMachineIsAsked(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.Answers(map[int]func(io.Writer) int{1: func(io.Writer) int { w.Servers[1].Disconnect(); return 0 }})
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonHostUnreachable {
		t.Errorf("Run: %v", err)
	}
}

// Nodes that an older build of select-hosts has written have no MAC addresses.
func TestNodesOfAnOlderBuild(t *testing.T) {
	w := kubespraytest.New(t, 1)
	for i := range w.In.Nodes {
		w.In.Nodes[i].MACs = nil
	}
	w.Machine = func(int, string, io.Writer) int { t.Error("the machine is checked without a MAC address"); return 0 }
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(w.Log.String(), "is not checked: no MAC address of the host is known"); n != 2 {
		t.Errorf("the log says %d times that the machine is not checked:\n%s", n, &w.Log)
	}
}

// iface is a network interface in sysfs. bus is empty for a virtual interface.
type iface struct{ name, address, bus, permanent string }

// sysfs makes a folder tree with these network interfaces, and a program ip that prints the given
// text. It returns a function that runs machine.IdentityScript with this tree and this program.
func sysfs(t *testing.T, ip string, ifaces ...iface) func(command string, stdout io.Writer) int {
	t.Helper()
	root := t.TempDir()
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(root+"/net/bonding_masters", "bond0\n", 0o600)
	for _, i := range ifaces {
		write(root+"/net/"+i.name+"/address", i.address+"\n", 0o600)
		if i.bus != "" {
			write(root+"/bus/"+i.bus+"/uevent", "", 0o600)
			write(root+"/net/"+i.name+"/device/uevent", "", 0o600)
			if err := os.Symlink("../../../bus/"+i.bus, root+"/net/"+i.name+"/device/subsystem"); err != nil {
				t.Fatal(err)
			}
		}
		if i.permanent != "" {
			write(root+"/net/"+i.name+"/bonding_slave/perm_hwaddr", i.permanent+"\n", 0o600)
		}
	}
	write(root+"/bin/ip", "#!/bin/sh\ncat <<EOF\n"+ip+"\nEOF\n", 0o700)
	return func(command string, stdout io.Writer) int {
		shell := exec.Command("sh", "-c", strings.ReplaceAll(command, "/sys/class/net", root+"/net"))
		shell.Env, shell.Stdout = []string{"PATH=" + root + "/bin:" + os.Getenv("PATH")}, stdout
		if err := shell.Run(); err != nil {
			t.Errorf("%v", err)
			return 1
		}
		return 0
	}
}

// TestMachineScript runs the real script in a real shell. The folder trees are like those of real
// machines.
func TestMachineScript(t *testing.T) {
	lo := iface{"lo", "00:00:00:00:00:00", "", ""}
	for name, tc := range map[string]struct {
		ip     string
		ifaces []iface
		want   []string
	}{
		"two cards and bridges": {"", []iface{lo, {"eno1", "02:00:00:00:01:01", "pci", ""}, {"eno2", "02:00:00:00:01:02", "virtio", ""}, {"br0", "02:00:00:00:09:09", "", ""}},
			[]string{"02:00:00:00:01:01", "02:00:00:00:01:02"}},
		"a bond": {"", []iface{lo, {"bond0", "02:00:00:00:01:01", "", ""}, {"eno1", "02:00:00:00:01:01", "pci", "02:00:00:00:01:01"}, {"eno2", "02:00:00:00:01:01", "pci", "02:00:00:00:01:02"}},
			[]string{"02:00:00:00:01:01", "02:00:00:00:01:02"}},
		"a bond with an address of its own": {"", []iface{{"bond0", "0a:00:00:00:00:01", "", ""}, {"eno1", "0a:00:00:00:00:01", "pci", "02:00:00:00:01:01"}},
			[]string{"02:00:00:00:01:01"}},
		"a team": {`1: lo: <LOOPBACK,UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
3: eno2: <BROADCAST,UP> mtu 1500 qdisc mq master team0 state UP mode DEFAULT group default qlen 1000\    link/ether 02:00:00:00:01:01 brd ff:ff:ff:ff:ff:ff permaddr 02:00:00:00:01:02`,
			[]iface{{"eno1", "02:00:00:00:01:01", "pci", ""}, {"eno2", "02:00:00:00:01:01", "pci", ""}, {"team0", "02:00:00:00:01:01", "", ""}},
			[]string{"02:00:00:00:01:01", "02:00:00:00:01:02"}},
		"a management controller's card": {"", []iface{lo, {"eno1", "02:00:00:00:01:01", "pci", ""}, {"usb0", "b0:3a:f2:b6:05:9f", "usb", ""}}, []string{"02:00:00:00:01:01"}},
		"a container":                    {"2: eth0@if9: <UP> mtu 1500", []iface{lo, {"eth0", "0A:58:0a:3c:00:0b", "", ""}}, []string{"0a:58:0a:3c:00:0b"}},
		"no interface":                   {"", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			sysfs(t, tc.ip, tc.ifaces...)("sh -c '"+machine.IdentityScript+"'", &out)
			got := machine.ParseIdentity(out.Bytes())
			if diff := cmp.Diff(tc.want, got.MACs); diff != "" || got.Name == "" {
				t.Errorf("name %q, MAC addresses (-want +got):\n%s\n%s", got.Name, diff, &out)
			}
		})
	}
}

// The host's known MAC address can be the factory address of a card, which is hidden by the address
// of a bond.
func TestBondOfTheRightMachine(t *testing.T) {
	w := kubespraytest.New(t, 1)
	bonded := sysfs(t, "", iface{"bond0", "02:00:00:00:0b:01", "", ""}, iface{"eno1", "02:00:00:00:0b:01", "pci", "02:00:00:00:0b:01"}, iface{"eno2", "02:00:00:00:0b:01", "pci", kubespraytest.MACOf(1)})
	right := w.Machine
	w.Machine = func(i int, command string, stdout io.Writer) int {
		if i == 1 {
			return bonded(command, stdout)
		}
		return right(i, command, stdout)
	}
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	asked := slices.ContainsFunc(w.Servers[1].Commands(), func(c string) bool { return strings.Contains(c, "perm_hwaddr") })
	if !asked || len(w.Ran) != 1 {
		t.Errorf("%d playbooks; asked: %t", len(w.Ran), asked)
	}
}
