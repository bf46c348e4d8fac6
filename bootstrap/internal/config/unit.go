package config

import (
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Unit returns the systemd unit that starts the machine after a reboot.
//
// Containers outlive the supervisor, and their shims are in the control group of the unit, so a stop ends only the
// supervisor (KillMode=process), which stops its components. The kernel kills the components if the supervisor dies.
// The supervisor needs up to 80 s to stop them, in which it answers nothing: the watchdog and the stop wait longer.
// Without memory, the kernel ends pods before the components. RequiresMountsFor waits for a state folder on a disk of
// its own. The unit does not wait for a network: the firewall names interfaces that may not exist yet, and all components
// listen at addresses of the machine's own bridge.
func Unit(l layout.Layout) string {
	return fmt.Sprintf(`[Unit]
Description=BPA bootstrap machine: depot, etcd, Kubernetes and containerd
Documentation=https://github.com/akraino-icn/bpa
RequiresMountsFor=%[1]q
After=network-pre.target
StartLimitIntervalSec=0

[Service]
Type=notify
%[4]s
ExecStart="%[2]s" supervise
Restart=always
RestartSec=2
WatchdogSec=180
TimeoutStartSec=180
TimeoutStopSec=180
KillMode=process
Delegate=yes
OOMScoreAdjust=-999
LimitNOFILE=1048576
TasksMax=infinity
StandardOutput=append:%[3]s
StandardError=inherit

[Install]
WantedBy=multi-user.target
`, escape(l.Root), escape(l.Bin("machine")), escape(l.Log("supervisor.log")), UnitOf(l))
}

// UnitOf returns the line of the unit that names the state folder.
func UnitOf(l layout.Layout) string { return fmt.Sprintf(`Environment="BPA_STATE=%s"`, escape(l.Root)) }

// escape returns a path for a unit, in which % begins a specifier.
func escape(path string) string { return strings.ReplaceAll(path, "%", "%%") }
