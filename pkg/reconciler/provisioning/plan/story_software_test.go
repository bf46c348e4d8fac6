package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// software changes what the Softwares request, or simulates the task install-software:
//
//	software NAME=VERSION ...    these packages for all nodes
//	software-disruption KIND     all these packages need Drain or Reboot; None: they need neither
//	software-unknown REASON      the depot does not answer, so packages without a version have a problem
//	software-asked VALUE         the annotation
//	software-looked              the run has looked at the nodes
//	software-installed NODE ...  the run has processed these nodes
//	software-silent NODE ...     these nodes did not answer the run
//	software-failed NODE PACKAGE the package could not be installed
func (w *scene) softwares(t *testing.T, word string, rest []string) {
	s := &w.seen.Software
	switch word {
	case "history":
		w.seen.Limits.History, _ = strconv.Atoi(rest[0])
	case "software":
		s.Wanted = nil
		for _, text := range rest {
			name, version, _ := strings.Cut(text, "=")
			s.Wanted = append(s.Wanted, contract.Software{Name: name, Version: version, ControlPlanes: true, Workers: true})
		}
	case "software-disruption":
		s.Wanted = slices.Clone(s.Wanted)
		for i := range s.Wanted {
			s.Wanted[i].Disruption = contract.Disruption(rest[0])
		}
	case "software-unknown":
		s.Wanted = slices.Clone(s.Wanted)
		for i := range s.Wanted {
			if s.Wanted[i].Problem = strings.Join(rest, " "); s.Wanted[i].Problem != "" {
				s.Wanted[i].Version = ""
			}
		}
	case "software-asked":
		s.Asked = strings.Join(rest, " ")
	case "software-looked":
		s.Record.Asked = cmp.Or(s.Started.Asked, s.Record.Asked)
	case "software-installed":
		for _, node := range rest {
			w.recordSoftware(t, node, contract.SoftwareInstalled)
		}
	case "software-silent":
		for _, node := range rest {
			w.recordSoftware(t, node, contract.SoftwarePending)
		}
	case "software-failed":
		w.recordSoftware(t, rest[0], contract.SoftwareInstalled)
		for _, n := range s.Record.Nodes {
			for i, p := range n.Packages {
				if n.Node == rest[0] && p.Name == rest[1] {
					n.Packages[i].State, n.Packages[i].Message = contract.SoftwareFailed, "no such package"
				}
			}
		}
	default:
		t.Fatalf("a story cannot tell %q", word)
	}
}

// recordSoftware simulates how the task stores one node.
func (w *scene) recordSoftware(t *testing.T, name string, state contract.SoftwareState) {
	s := &w.seen.Software
	i := slices.IndexFunc(w.seen.members(), func(n contract.Node) bool { return n.Name == name })
	if i < 0 || s.Started == nil {
		t.Fatalf("node %s: no run installs software on it", name)
	}
	w.processed = append(w.processed, name)
	n := w.seen.members()[i]
	row := contract.SoftwareNode{Node: n.Name, Host: n.HostUID, Checked: w.now, Tried: w.now}
	if state == contract.SoftwarePending {
		row.Message = "it did not answer"
	}
	for _, p := range s.Started.Packages {
		if p.On(n.Roles) {
			row.Packages = append(row.Packages, contract.SoftwarePackage{
				Name: p.Name, Wanted: p.Version, Installed: p.Version, State: state, Since: w.now, Ours: true, Intent: contract.SoftwareIntent(p),
			})
		}
	}
	s.Record.Nodes = slices.DeleteFunc(slices.Clone(s.Record.Nodes), func(o contract.SoftwareNode) bool { return o.Node == name })
	s.Record.Nodes = append(s.Record.Nodes, row)
}

// createSoftware simulates how the controller applies the start of a run for Softwares.
func (w *scene) createSoftware() {
	s := &w.seen.Software
	s.Runs = append(slices.Clone(s.Runs), Run{
		Enrolls: true,
		Name:    fmt.Sprintf("edge-1-%s-%d", w.last.Operation, w.last.Number), Number: w.last.Number, Attempt: w.last.Attempt, Operation: w.last.Operation,
		Digest: w.seen.Digest, Inputs: w.last.Inputs, Generation: w.seen.Generation, Retry: w.seen.Retry, Started: w.now,
	})
	if s.Started, w.processed = w.last.Request.Software, nil; s.Started != nil {
		s.Runs[len(s.Runs)-1].Asked = s.Started.Asked
	}
}

// softwareSucceeds simulates the success of the task install-software on all nodes of the run.
func (w *scene) softwareSucceeds(t *testing.T) {
	s := &w.seen.Software
	for _, name := range s.Started.Nodes {
		if !slices.Contains(w.processed, name) {
			w.recordSoftware(t, name, contract.SoftwareInstalled)
		}
	}
	s.Record.Asked = cmp.Or(s.Started.Asked, s.Record.Asked)
}

func (w *scene) describeSoftware(say func(string, ...any)) {
	if r := w.last.Request.Software; w.last.Do == StartRun && r != nil {
		var packages []string
		for _, p := range r.Packages {
			packages = append(packages, strings.TrimRight(p.Name+"="+p.Version, "="))
		}
		say("  packages         %s on %s", strings.Join(packages, " "), strings.Join(r.Nodes, " "))
		if r.Asked != "" {
			say("  requested        %s", r.Asked)
		}
	}
	s := w.p.Status.Software
	if s == nil {
		return
	}
	if s.Asked != w.answered {
		say("  answered         %s", s.Asked)
	}
	w.answered = s.Asked
	if s.Next != "" || s.Waiting != "" {
		say("  software         next: %s; waiting: %s", s.Next, s.Waiting)
	}
	if f := s.Failure; f != nil {
		say("  software failed  %s attempt %d: %s", s.Run, s.Attempt, describeFailure(f))
	}
}

// TestRequestOfASoftwareRunThatWasNotCreated: a request to look at the packages that the controller has written before
// it dies is not answered by the run before it, which failed.
func TestRequestOfASoftwareRunThatWasNotCreated(t *testing.T) {
	w := installedScene(t, "history 9")
	w.tell(t, "software curl=8.5", "done", "software-asked first", "starts", "task install-software fails InvalidRequest|||no", "run fails Failed", "software-asked second")
	if w.last.Do != StartRun || w.last.Request.Software.Asked != "second" {
		t.Fatalf("a second request after a run that has failed: %s", w.describe())
	}
	w.seen.Software.Started = w.last.Request.Software
	if w.describe(); w.last.Do != StartRun || w.last.Request.Software.Asked != "second" {
		t.Errorf("no run starts for the second request: %s", describeStep(w.last))
	}
}

// TestSoftwareOfManyNodes: a run for Softwares that is stopped at its time limit is repeated as long as each run
// processes nodes (L15), and five times if none does.
func TestSoftwareOfManyNodes(t *testing.T) {
	nodes := []string{"master-1", "worker-1", "worker-2", "worker-3", "worker-4", "worker-5"}
	w := installedScene(t, "history 9", "nodes "+strings.Join(nodes, " "))
	w.tell(t, "software driver=1")
	for _, node := range nodes {
		if w.last.Do != StartRun || w.last.Attempt != 1 {
			t.Fatalf("no run installs the packages of %s: %s; each run before it has processed a node", node, describeStep(w.last))
		}
		w.tell(t, "starts", "wait 1m", "software-installed "+node, "run fails PipelineRunTimeout", "wait 5m")
	}
	w.tell(t, "software driver=2")
	attempts := int32(0)
	for w.last.Do == StartRun && attempts < 20 {
		attempts = w.last.Attempt
		w.tell(t, "starts", "wait 1m", "run fails PipelineRunTimeout", "wait 2h")
	}
	if attempts != w.seen.Limits.Attempts {
		t.Errorf("%d attempts without progress, want %d: %s", attempts, w.seen.Limits.Attempts, w.describe())
	}
}
