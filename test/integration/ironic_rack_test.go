//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	rackBridge  = "bpa-ironic"
	rackAddress = "10.63.0.1" // address of this machine, for Ironic, the BMCs and the depot
	diskSize    = 5 << 30     // bytes, in a sparse file; Ironic's agent does not install on disks below 4 GiB
)

// promptEmulator runs sushy-emulator without its random delay of power changes (up to 11 s).
const promptEmulator = "import random; random.randint = lambda least, most: 0; from sushy_tools.emulator.main import main; main()"

// ironicRack is the hardware of the test. Each machine has a network card and a disk, and runs the
// real ironic-python-agent when it boots from the network. The BMCs are sushy-tools' Redfish
// emulator with its fake driver, which only stores the state and notifies the rack. The rack acts
// as the firmware: it boots a machine with Ironic's iPXE script. A machine that boots from its disk
// does nothing.
type ironicRack struct {
	dir, venv string
	bootFiles string     // Ironic's http_root
	bmcs      string     // URL of the emulator
	mu        sync.Mutex // protects the agents of the machines
	machines  map[string]*machine
	notify    string // URL to which the emulator sends notifications
	config    string // path of the agent's configuration, which is a file of the ramdisk
	noDisk    string // the disk of a broken machine: it is too small for an operating system
}

// bmcAddress returns the BMC address of a machine for its BareMetalHost.
func (r *ironicRack) bmcAddress(m *machine) string {
	return "redfish+" + r.bmcs + "/redfish/v1/Systems/" + m.uuid()
}

// newRack creates a rack of machines with these names, their network and their BMCs. The machines
// are off.
func newRack(t *testing.T, dir, venv, bootFiles string, names ...string) *ironicRack {
	t.Helper()
	r := &ironicRack{dir: dir, venv: venv, bootFiles: bootFiles, machines: map[string]*machine{}}
	_ = exec.Command("ip", "link", "delete", rackBridge).Run() // left by a test that was killed
	command(t, "ip", "link", "add", rackBridge, "type", "bridge")
	t.Cleanup(func() { _ = exec.Command("ip", "link", "delete", rackBridge).Run() })
	command(t, "ip", "address", "add", rackAddress+"/24", "dev", rackBridge)
	command(t, "ip", "link", "set", rackBridge, "up")
	for n, name := range names {
		r.machines[name] = r.cable(t, n+1, name)
	}
	r.noDisk = newDisk(t, filepath.Join(dir, "no.disk"), 64<<20)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(r.handleNotification)}
	go server.Serve(listener) //nolint:errcheck // it always fails when the test closes the server
	t.Cleanup(func() {
		_ = server.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, m := range r.machines {
			m.stop()
		}
	})
	r.notify = "http://" + listener.Addr().String()
	r.startBMCs(t)
	return r
}

// cable creates the network namespace, the network card and the disk of a machine.
func (r *ironicRack) cable(t *testing.T, n int, name string) *machine {
	t.Helper()
	m := &machine{n: n, name: name, mac: fmt.Sprintf("02:00:00:00:63:%02x", n), file: filepath.Join(r.dir, name+".disk")}
	ns, port := m.netns(), fmt.Sprintf("bpa-ironic%d", n)
	_ = exec.Command("ip", "netns", "delete", ns).Run() // left by a test that was killed
	command(t, "ip", "netns", "add", ns)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", ns).Run() })
	command(t, "ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", ns)
	command(t, "ip", "link", "set", port, "master", rackBridge, "up")
	command(t, "ip", "-n", ns, "link", "set", "eth0", "address", m.mac, "up")
	command(t, "ip", "-n", ns, "address", "add", fmt.Sprintf("10.63.0.%d/24", 10+n), "dev", "eth0")

	m.disk = newDisk(t, m.file, diskSize)
	return m
}

// newDisk returns the device of an empty disk, whose contents are in a file.
func newDisk(t *testing.T, path string, size int64) (device string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	device = strings.TrimSpace(command(t, "losetup", "--find", "--partscan", "--show", path))
	t.Cleanup(func() { _ = exec.Command("losetup", "--detach", device).Run() })
	return device
}

func (r *ironicRack) startBMCs(t *testing.T) {
	t.Helper()
	var systems []string
	for _, m := range r.machines {
		const system = `{"uuid": %q, "name": %q, "power_state": "Off", "external_notifier": True, "boot_mode": "Legacy", "nics": [{"mac": %q, "ip": ""}]}`
		systems = append(systems, fmt.Sprintf(system, m.uuid(), m.name, m.mac))
	}
	port := anyPort(t)
	r.bmcs = "http://" + net.JoinHostPort(rackAddress, port)
	config := filepath.Join(r.dir, "bmcs.conf")
	text := fmt.Sprintf("SUSHY_EMULATOR_FAKE_SYSTEMS = [%s]\nEXTERNAL_NOTIFICATION_URL = %q\nSUSHY_EMULATOR_STATE_DIR = %q\n",
		strings.Join(systems, ", "), r.notify, r.dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon(t, r.dir, "bmcs", filepath.Join(r.venv, "bin", "python"), "-c", promptEmulator, "--fake", "--config="+config, "--interface="+rackAddress, "--port="+port)
	awaitURL(t, r.bmcs+"/redfish/v1/Systems")
}

// handleNotification handles the emulator's request after each change of a machine: it stops or
// boots the machine.
func (r *ironicRack) handleNotification(w http.ResponseWriter, req *http.Request) {
	var system struct {
		Name   string
		Power  string `json:"power_state"`
		Device string `json:"boot_device"`
	}
	if err := json.NewDecoder(req.Body).Decode(&system); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.machines[system.Name]
	switch {
	case m == nil:
		http.NotFound(w, req)
	case system.Power == "Off":
		m.stop()
	case system.Device == "Pxe" && m.agent == nil:
		if err := r.boot(m); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}
