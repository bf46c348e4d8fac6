package kubespray

import (
	"path"
	"reflect"
	"runtime"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// TestOperationsAreWhatTheTableSays compares operationOf with contract.Operations.
func TestOperationsAreWhatTheTableSays(t *testing.T) {
	works := map[string]string{
		contract.OperationInstall:             "join.Install",
		contract.OperationAddNodes:            "join.Install",
		contract.OperationAddControlPlane:     "join.AddControlPlane",
		contract.OperationRemoveNodes:         "remove.Run",
		contract.OperationRemoveControlPlane:  "remove.Run",
		contract.OperationUpgradeControlPlane: "upgrade.Run",
		contract.OperationUpgradeNodes:        "upgrade.Run",
		contract.OperationConfigure:           "upgrade.Configure",
		contract.OperationRestore:             "restore.Run",
		contract.OperationReset:               "reset.Run",
	}
	for _, o := range contract.Operations {
		if o.Playbook == "" {
			if works[o.Name] != "" {
				t.Errorf("%s has no playbook, so the task kubespray does not do it", o.Name)
			}
			continue
		}
		of := operationOf(session.Input{Playbook: o.Playbook, Request: contract.Request{Order: contract.Order{Operation: o.Name}}})
		work := path.Base(runtime.FuncForPC(reflect.ValueOf(of).Pointer()).Name())
		if work != works[o.Name] {
			t.Errorf("%s is done by %s, want %q", o.Name, work, works[o.Name])
		}
		if upgrades := work == "upgrade.Run" || work == "upgrade.Configure"; upgrades != o.Upgrades() {
			t.Errorf("%s is done by %s; its requests have an Upgrade: %t", o.Name, work, o.Upgrades())
		}
		if ends := work == "remove.Run" || work == "upgrade.Run"; ends != o.EndsEarly() {
			t.Errorf("%s is done by %s; its runs can end early: %t", o.Name, work, o.EndsEarly())
		}
		if adds := work == "join.Install" || work == "join.AddControlPlane"; adds != o.AddsNodes() {
			t.Errorf("%s is done by %s; it adds nodes: %t", o.Name, work, o.AddsNodes())
		}
	}
}
