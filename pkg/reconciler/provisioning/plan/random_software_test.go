package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/health"
)

// randomSoftware adds Softwares, their record and their runs to the world.
func randomSoftware(r *rand.Rand, s *Seen, now time.Time) {
	for _, name := range []string{"curl", "jq", "qat"}[:r.IntN(4)] {
		s.Software.Wanted = append(s.Software.Wanted, contract.Software{
			Name: name, Version: pick(r, "", "1", "2"), ControlPlanes: r.IntN(3) > 0, Workers: r.IntN(3) > 0, Problem: pick(r, "", "", "", "", "a conflict"),
		})
	}
	for _, n := range s.members() {
		row := contract.SoftwareNode{Node: n.Name, Host: n.HostUID}
		for _, name := range []string{"curl", "jq", "old"}[:r.IntN(4)] {
			row.Packages = append(row.Packages, contract.SoftwarePackage{
				Name: name, Installed: "1", Intent: pick(r, "", "v1 1", "v1 2"), Ours: r.IntN(2) == 0, Since: now.Add(-time.Duration(r.IntN(20)) * time.Minute),
				State: pick(r, contract.SoftwareInstalled, contract.SoftwareInstalled, contract.SoftwareFailed, contract.SoftwarePending, contract.SoftwareDrifted, contract.SoftwareOutdated),
			})
		}
		if r.IntN(3) > 0 {
			s.Software.Record.Nodes = append(s.Software.Record.Nodes, row)
		}
	}
	s.Software.Asked, s.Software.Record.Asked = pick(r, "", "", "1", "2 check", "3 update"), pick(r, "", "1")
	first := len(s.Runs)
	if r.IntN(2) == 0 { // the runs for Softwares are older than the others
		first = 0
		for i := range s.Runs {
			s.Runs[i].Number += 3
		}
	}
	for n := range r.IntN(4) {
		number := first + n + 1
		run := Run{
			Name: fmt.Sprintf("edge-1-software-%d", number), Number: int32(number), Attempt: int32(1 + r.IntN(4)), Operation: contract.OperationSoftware,
			Digest: s.Digest, Inputs: pick(r, "other", s.softwareInputs(), s.softwareInputs()), Retry: pick(r, "", "x"),
			State: pick(r, Active, Succeeded, Failed, Succeeded, Failed), Cancelling: r.IntN(9) == 0, Generation: int64(r.IntN(3)), Started: now.Add(-time.Hour),
		}
		if run.State != Active {
			run.Completed = now.Add(-time.Duration(r.IntN(600)) * time.Second)
		}
		task := Task{Name: contract.TaskInstallSoftware, State: run.State}
		if reason := pick(r, someReasons...); reason != "" && run.State == Failed {
			task.Failure = &contract.Failure{Reason: reason, Host: "a"}
		}
		run.Tasks = []Task{task}
		s.Software.Runs = append(s.Software.Runs, run)
		s.Software.Started = pick(r, nil, &contract.SoftwareRun{Nodes: []string{"a", "b", "w-1"}[:r.IntN(4)]})
	}
	s.Software.KeyChanged = r.IntN(6) == 0
	if r.IntN(3) == 0 && s.Health == nil {
		s.Health = &Health{Report: health.Report{API: pick(r, health.APIAnswers, health.APIAnswers, health.APISilent), Nodes: map[string]health.NodeReport{
			"a": {State: pick(r, health.NodeReady, health.NodeReady, health.NodeNotReady)}, "w-1": {State: pick(r, health.NodeReady, health.NodeMissing)},
		}}}
	}
}

// harmfulSoftware describes why a run for Softwares must not be started. It is empty if it may.
func harmfulSoftware(s Seen, step Step, now time.Time) string {
	run := step.Request.Software
	if step.Operation != contract.OperationSoftware {
		if run != nil && (len(run.Nodes) > 0 || len(run.Packages) != len(s.Software.Wanted)) {
			return "a run for new machines changes others, or lacks packages"
		}
		return ""
	}
	_, changes := s.nextChange()
	newest := s.Software.Newest()
	switch {
	case run == nil || len(run.Nodes) == 0 && !run.CheckOnly:
		return "a run for Softwares does nothing"
	case len(run.Packages) != len(s.Software.Wanted):
		return "a run removes packages that it does not know"
	case changes || s.PluginChange() != "" && s.Newest().State != Failed:
		return "Softwares come before another change"
	case len(step.Request.Members) != len(s.Memory.Nodes) || step.Request.Remove != nil || step.Request.Upgrade != nil || len(step.Request.Plugins) > 0:
		return "the request does not describe the cluster"
	case step.Idle == nil || step.Idle.Do != Stay:
		return "nobody knows what the conditions say without the run"
	case s.Health != nil && s.Health.API == health.APISilent:
		return "a run starts although the API server does not answer"
	case newest != nil && newest.State == Succeeded && s.sameSoftware(*newest) && newest.Completed.Equal(now):
		return "a run starts at once after one that has succeeded"
	}
	for _, name := range run.Nodes {
		n := s.Memory.Nodes[slices.IndexFunc(s.Memory.Nodes, func(n contract.Node) bool { return n.Name == name })]
		lost := slices.ContainsFunc(s.losses(), func(l Loss) bool { return l.Node.Name == name && !l.Node.Standby })
		if _, alive := s.aliveSince(n); lost || !alive {
			return "a run changes node " + name + ", which does not answer"
		}
	}
	return ""
}

// finishSoftware returns the state after a run for Softwares has processed its nodes.
func finishSoftware(s Seen, step Step) Seen {
	run := step.Request.Software
	record := contract.SoftwareRecord{Asked: cmp.Or(run.Asked, s.Software.Record.Asked)}
	for _, n := range s.Memory.Nodes {
		row := s.Software.Record.Of(n)
		if slices.Contains(run.Nodes, n.Name) && !run.CheckOnly {
			before := row.Packages
			row.Packages = nil
			for _, p := range run.Packages {
				if i := slices.IndexFunc(before, func(b contract.SoftwarePackage) bool { return b.Name == p.Name }); p.Problem != "" && i >= 0 {
					row.Packages = append(row.Packages, before[i])
				} else if p.On(n.Roles) && p.Problem == "" {
					row.Packages = append(row.Packages, contract.SoftwarePackage{Name: p.Name, Installed: p.Version, State: contract.SoftwareInstalled, Ours: true, Intent: contract.SoftwareIntent(p)})
				}
			}
		}
		record.Nodes = append(record.Nodes, row)
	}
	s.Software.Record = record
	return s
}

// calm returns the world after the cluster has become the requested one, as far as possible, with Softwares
// and sometimes other plugins. In most other worlds something else comes first.
func calm(r *rand.Rand, s Seen, now time.Time) Seen {
	s.Software = Softwares{}
	s.Deleting, s.Hosts, s.SSH = false, &Need{}, &Need{}
	for range 20 {
		step := Next(s, now)
		if step.Do == Stay || step.Do == Release {
			break
		}
		if s = after(s, step, now); step.Do == StartRun {
			s = finish(s, step, now)
		}
	}
	if s.Request.Plugins, s.Plugins = nil, (Plugins{}); r.IntN(4) == 0 {
		randomPlugins(r, &s)
	}
	randomSoftware(r, &s, now)
	return s
}
