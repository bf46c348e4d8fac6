//go:build integration

package integration

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// machine is one of the machines in an ironicRack.
type machine struct {
	n         int // number in the rack, from 1
	name, mac string
	file      string    // file with the contents of the disk
	disk      string    // /dev/loopN
	agent     *exec.Cmd // nil if the machine is off
	boots     int       // how often it has booted from the network
	silent    bool      // it does not boot from the network: nothing answers it, or it boots from another card
	broken    int       // in so many boots from the network, the disk of the machine is missing
}

func (m *machine) uuid() string  { return fmt.Sprintf("b9a00000-0000-4000-8000-%012d", m.n) }
func (m *machine) netns() string { return fmt.Sprintf("%s-%d", rackBridge, m.n) }

var ipxeKernel = regexp.MustCompile(`(?m)^kernel .*?deploy_kernel (.*?)( \|\||$)`)

// boot boots a machine from the network: it starts ironic-python-agent with the kernel command line
// in Ironic's iPXE script.
func (r *ironicRack) boot(m *machine) error {
	if m.silent {
		return nil
	}
	script, err := os.ReadFile(filepath.Join(r.bootFiles, "pxelinux.cfg", strings.ReplaceAll(m.mac, ":", "-")))
	if err != nil {
		return err
	}
	kernel := ipxeKernel.FindSubmatch(script)
	if kernel == nil {
		return fmt.Errorf("no kernel in Ironic's iPXE script:\n%s", script)
	}
	cmdline := filepath.Join(r.dir, m.name+".cmdline")
	if err := os.WriteFile(cmdline, bytes.ReplaceAll(kernel[1], []byte("${mac}"), []byte(m.mac)), 0o600); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(r.dir, m.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	disk := m.disk
	if m.boots++; m.boots <= m.broken {
		disk = r.noDisk
	}
	agent := exec.Command("ip", "netns", "exec", m.netns(), "unshare", "--mount", "--pid", "--fork", "--kill-child",
		"../ironic/machine", disk, cmdline, r.config, r.venv)
	agent.Stdout, agent.Stderr = log, log
	if err := agent.Start(); err != nil {
		return err
	}
	m.agent = agent
	go r.watch(m, agent)
	return nil
}

// watch waits until the agent has exited. If the machine has switched itself off, watch reports
// this to the BMC. If stop has killed the agent, m.agent no longer is this agent, and there is
// nothing to report.
func (r *ironicRack) watch(m *machine, agent *exec.Cmd) {
	_ = agent.Wait()
	r.mu.Lock()
	switchedOff := m.agent == agent
	r.mu.Unlock()
	if !switchedOff {
		return
	}
	url := r.bmcs + "/redfish/v1/Systems/" + m.uuid() + "/Actions/ComputerSystem.Reset"
	response, err := http.Post(url, "application/json", strings.NewReader(`{"ResetType": "ForceOff"}`))
	if err == nil {
		response.Body.Close()
	}
}

// stop switches the machine off at once.
func (m *machine) stop() {
	if m.agent != nil {
		_ = m.agent.Process.Kill()
		m.agent = nil
	}
}
