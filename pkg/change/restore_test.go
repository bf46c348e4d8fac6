package change

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

var backupOf = &contract.Restore{Asked: "b-1 now", Backup: "b-1", Artifact: "backup-b-1.tar.age", SHA256: "abc"}

// ruined returns a cluster of three control planes and two workers, of which m2, m3 and w2 are lost. The
// spec requests them all, and w3.
func ruined(changes ...func(*State)) State {
	plane, worker := []string{contract.RoleControlPlane}, []string{contract.RoleWorker}
	s := State{Restore: backupOf, Lost: map[string]bool{"m2": false, "m3": false, "w2": true}}
	s.Installed = contract.Installed{EtcdNext: 4, Request: contract.Spec{KubernetesVersion: "1.34.3", PodSubnet: "10.0.0.0/16"}}
	for i, name := range []string{"m1", "m2", "m3", "w1", "w2"} {
		n := contract.Node{Name: name, Roles: worker, Host: "h-" + name, HostUID: "u-" + name}
		if strings.HasPrefix(name, "m") {
			n.Roles, n.Etcd = plane, []string{"etcd1", "etcd2", "etcd3"}[i]
		}
		s.Installed.Nodes = append(s.Installed.Nodes, n)
		s.Installed.Request.Slots = append(s.Installed.Request.Slots, contract.Slot{Name: name, Roles: n.Roles})
	}
	s.Wanted.Spec = s.Installed.Request
	s.Wanted.Slots = append(s.Wanted.Slots[:5:5], contract.Slot{Name: "w3", Roles: worker})
	for _, change := range changes {
		change(&s)
	}
	return s
}

func slotNames(r contract.Request) (all []string) {
	for _, slot := range r.Slots {
		all = append(all, strings.TrimSuffix(slot.Name+"@"+slot.MAC, "@"))
	}
	return all
}

func TestRestore(t *testing.T) {
	without := func(names ...string) func(*State) {
		return func(s *State) {
			var left []contract.Slot
			for _, slot := range s.Wanted.Slots {
				if !strings.Contains(strings.Join(names, " "), slot.Name) {
					left = append(left, slot)
				}
			}
			s.Wanted.Slots = left
		}
	}
	version := func(of string, at ...int) func(*State) {
		return func(s *State) {
			for _, i := range at {
				s.Installed.Nodes[i].Version = of
			}
		}
	}
	for name, tc := range map[string]struct {
		state         State
		what, version string
		slots         string
		lost, kept    string
	}{
		"lost ones are replaced":                    {ruined(), "restore Backup b-1; replace m2, m3", "1.34.3", "m1 m2 m3 w1", "m2 m3 w2", "w2"},
		"nothing is lost":                           {ruined(func(s *State) { s.Lost = nil }), "restore Backup b-1", "1.34.3", "m1 m2 m3 w1 w2", "", ""},
		"one that is not requested is left out":     {ruined(without("m3")), "restore Backup b-1; replace m2; remove m3", "1.34.3", "m1 m2 w1", "m2 m3 w2", "w2"},
		"a living one that is not requested stays":  {ruined(without("m1")), "restore Backup b-1; replace m2, m3", "1.34.3", "m2 m3 m1 w1", "m2 m3 w2", "w2"},
		"one control plane stays in any case":       {ruined(without("m1", "m2", "m3"), func(s *State) { s.Lost["m1"] = true }), "restore Backup b-1; replace m1, m2, m3", "1.34.3", "m1 m2 m3 w1", "m1 m2 m3 w2", "w2"},
		"a lost one that is pinned to another host": {ruined(func(s *State) { s.Wanted.Slots[1].MAC = "mac" }), "restore Backup b-1; replace m2, m3", "1.34.3", "m1 m2@mac m3 w1", "m2 m3 w2", "w2"},
		"the version of the backup":                 {ruined(version("1.35.4", 0), func(s *State) { s.RestoreVersion = "1.35.4" }), "restore Backup b-1; replace m2, m3", "1.35.4", "m1 m2 m3 w1", "m2 m3 w2", "w2"},
		"a newer patch than the backup":             {ruined(func(s *State) { s.RestoreVersion = "1.34.1" }), "restore Backup b-1; replace m2, m3", "1.34.3", "m1 m2 m3 w1", "m2 m3 w2", "w2"},
		"a patch upgrade has begun":                 {ruined(version("1.34.5", 0), func(s *State) { s.RestoreVersion = "1.34.1" }), "restore Backup b-1; replace m2, m3", "1.34.3", "m1 m2 m3 w1", "m2 m3 w2", "w2"},
		"a worker has the newer patch":              {ruined(version("1.34.5", 0, 3), func(s *State) { s.RestoreVersion = "1.34.1" }), "restore Backup b-1; replace m2, m3", "1.34.5", "m1 m2 m3 w1", "m2 m3 w2", "w2"},
		"the older version of the backup":           {ruined(version("1.35.4", 0), func(s *State) { s.RestoreVersion = "1.34.3" }), "restore Backup b-1; replace m2, m3", "1.34.3", "m1 m2 m3 w1", "m2 m3 w2", "w2"},
	} {
		t.Run(name, func(t *testing.T) {
			step, ok := Next(tc.state)
			r := step.Request
			if !ok || step.Operation != contract.OperationRestore || r.Operation != step.Operation || step.String() != tc.what {
				t.Fatalf("%s: %s", step.Operation, step)
			}
			got := []string{r.KubernetesVersion, strings.Join(slotNames(r), " "), strings.Join(r.Lost, " "), strings.Join(r.Kept, " ")}
			if diff := cmp.Diff([]string{tc.version, tc.slots, tc.lost, tc.kept}, got); diff != "" {
				t.Errorf("version, slots, lost, kept (-want +got):\n%s", diff)
			}
			if r.Restore != backupOf || len(r.Members) != 5 || r.Members[1].Etcd != "etcd2" || r.EtcdNext != 4 || !r.Complete {
				t.Errorf("request %+v", r)
			}
			if tc.kept != "" && (len(r.PassedOver) != 1 || r.PassedOver[0] != "h-w2") {
				t.Errorf("passed over %v", r.PassedOver)
			}
		})
	}
}

// After the restore, the other operations follow. They are planned with the new members of etcd.
func TestPlanWithARestore(t *testing.T) {
	var steps []string
	for _, step := range Plan(ruined()) {
		steps = append(steps, step.String())
	}
	if diff := cmp.Diff([]string{"restore Backup b-1; replace m2, m3", "replace w2; add w3"}, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestWhyNotRestored(t *testing.T) {
	mixed := ruined(func(s *State) { s.Installed.Nodes[0].Version, s.Installed.Nodes[3].Version = "1.35.4", "1.35.4" })
	for version, says := range map[string]string{
		"": "", "1.35.4": "", "1.34.3": "node w1 has 1.35.4: a kubelet must not be newer", "1.36.0": "no control plane of the cluster has this version or a newer patch",
		"1.35.1": "", "1.35.5": "no control plane of the cluster has", "1.34.1": "node w1 has 1.35.4", "1.33.9": "no control plane of the cluster has",
	} {
		if got := WhyNotRestored(mixed, version); !strings.Contains(got, says) || (got == "") != (says == "") {
			t.Errorf("version %q: %q, want %q", version, got, says)
		}
	}
}
