package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// The data that a restore makes is that of the member that the machine starts.
func TestARestoredMemberIsTheMachines(t *testing.T) {
	args := machineControlPlane(layout.Layout{Root: "/srv"}).Etcd().Args
	for _, arg := range EtcdMember() {
		if !slices.Contains(args, arg) {
			t.Errorf("the machine's etcd has no %s: %v", arg, args)
		}
	}
	if !slices.Contains(args, "--listen-client-urls="+EtcdURL) {
		t.Errorf("the machine's etcd does not listen at %s: %v", EtcdURL, args)
	}
}

// Webhooks and policies are ignored while a restore detaches the hosts, and never otherwise.
func TestOnlyARestoreIgnoresWebhooks(t *testing.T) {
	control := machineControlPlane(layout.Layout{Root: "/srv"})
	ignores := func(c ControlPlane) bool {
		return slices.ContainsFunc(c.APIServer().Args, func(arg string) bool {
			return strings.HasPrefix(arg, "--disable-admission-plugins=") && strings.Contains(arg, "ValidatingAdmissionWebhook") && strings.Contains(arg, "ValidatingAdmissionPolicy")
		})
	}
	if ignores(control) {
		t.Error("the machine's API server ignores webhooks")
	}
	control.Alone = true
	if !ignores(control) {
		t.Error("the API server of a restore asks webhooks")
	}
}
