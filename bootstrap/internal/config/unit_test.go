package config

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func TestUnit(t *testing.T) {
	text := Unit(layout.Layout{Root: "/var/lib/bpa"})
	for _, want := range []string{
		"\nExecStart=\"/var/lib/bpa/bin/machine\" supervise\n", "\nEnvironment=\"BPA_STATE=/var/lib/bpa\"\n", "\nRestart=always\n", "\nType=notify\n",
		"\nKillMode=process\n", "\nWatchdogSec=", "\nOOMScoreAdjust=-999\n", "\nAfter=network-pre.target\n", "\nWantedBy=multi-user.target\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
