package enroll

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/check"
	"github.com/akraino-icn/bpa/pkg/check/visit"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Ports are the functions and objects through which the task reaches the outside.
type Ports struct {
	session.Ports
	// Outcome is the ConfigMap for the outcome of the run; nil: the run has none.
	Outcome session.Store
}

// A finding ends the run only if the last of this number of looks shows it, too: a host that has just booted may not have its
// time or its route yet, and a busy one may not answer in time.
const (
	looks     = 3
	lookAgain = 10 * time.Second
)

// check checks the machines on which the run is to install a node for the first time. It stores what is not as it should be.
// It fails if the installation would fail. It changes no machine. A machine that has a node already is not asked: see
// docs/decisions/2026-11-28-checks-in-runs.md.
func (e enroller) check(ctx context.Context, visits []session.Visit) error {
	var fresh []contract.Node
	var hosts []visit.Host
	for i, n := range e.in.Nodes {
		if !e.needs(n) || slices.Contains(e.in.Request.Installed, n.Host) {
			continue
		}
		to, pinned := node.Target(e.in.Request, n), e.c.Expected(e.in, n)
		if visits[i].Key != nil {
			pinned = visits[i].Key
		}
		fresh = append(fresh, n)
		hosts = append(hosts, visit.Host{Addresses: []string{to.Address}, Pinned: pinned,
			Logins: []visit.Login{{User: to.User, Port: to.Port, Key: e.own}, {User: to.User, Port: to.Port, Key: e.site}}})
	}
	if len(fresh) == 0 {
		return nil
	}
	in := check.InputOf(e.in.Request, nil)
	in.Run, in.Skip = true, e.in.Request.Unchecked
	for _, n := range fresh {
		in.Nodes = append(in.Nodes, check.NodeOf(n, false))
	}
	findings, err := e.look(ctx, in, hosts)
	if err != nil {
		return err
	}
	e.store(ctx, findings)
	return e.failure(findings)
}

// look asks the hosts until nothing blocks, or until it has asked often enough.
func (e enroller) look(ctx context.Context, in check.Input, hosts []visit.Host) (findings []check.Finding, err error) {
	for n := 1; ; n++ {
		begin := time.Now()
		answers := visit.All(ctx, e.ports.Dial, in, hosts, visit.Limit, nil)
		if err := session.Stopped(ctx, "the checks"); err != nil {
			return nil, err
		}
		for i := range answers { // what is left of this cluster
			in.Nodes[i].Member = len(answers[i].Facts.Kubernetes) > 0
		}
		findings = check.Judge(in, answers)
		fmt.Fprintf(e.ports.Log, "Checked %s in %s: %s\n", session.Count(len(hosts), "host"), time.Since(begin).Round(100*time.Millisecond), session.Count(len(findings), "finding"))
		if !slices.ContainsFunc(findings, check.Finding.Blocks) || n == looks {
			break
		}
		pause := cmp.Or(e.in.Poll, lookAgain)
		fmt.Fprintf(e.ports.Log, "The installation would fail with %s. Checking again in %s, look %d of %d\n", describe(findings[0]), pause, n+1, looks)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	for _, f := range findings {
		fmt.Fprintf(e.ports.Log, "  %-9s %s\n", severity(f), describe(f))
	}
	return findings, nil
}

// describe returns a finding in one line: "check clock of worker-1: its clock is ...".
func describe(f check.Finding) string {
	if f.Host == "" {
		return fmt.Sprintf("check %s: %s", f.ID, f.Seen)
	}
	return fmt.Sprintf("check %s of %s: %s", f.ID, f.Host, f.Seen)
}

// severity returns error, warning or unknown.
func severity(f check.Finding) string {
	if f.Result == check.Unknown {
		return string(check.Unknown)
	}
	return string(f.Severity)
}

// store stores the findings for the controller. The status only shows them, so the run goes on without it.
func (e enroller) store(ctx context.Context, findings []check.Finding) {
	if e.ports.Outcome == nil {
		return
	}
	text, err := json.Marshal(summary(findings))
	if err == nil {
		err = e.ports.Outcome.Set(ctx, contract.KeyChecks, string(text))
	}
	if err != nil {
		fmt.Fprintf(e.ports.Log, "The findings cannot be stored for the status: %v\n", err)
	}
}

// summary returns the findings in the order of check.Judge, with one item for each check and severity.
func summary(findings []check.Finding) (all contract.Checks) {
	for _, f := range findings {
		i := slices.IndexFunc(all.Findings, func(o contract.CheckFinding) bool { return o.ID == f.ID && o.Severity == severity(f) })
		if i < 0 {
			i = len(all.Findings)
			all.Findings = append(all.Findings, contract.CheckFinding{ID: f.ID, Severity: severity(f), Message: task.Cut(f.Seen, contract.MostFindingText)})
		}
		of := &all.Findings[i]
		if f.Host == "" || slices.Contains(of.Hosts, f.Host) {
			continue
		}
		if of.HostCount++; len(of.Hosts) < contract.MostFindingHosts {
			of.Hosts = append(of.Hosts, f.Host)
		}
	}
	if over := len(all.Findings) - contract.MostFindings; over > 0 {
		all.Findings, all.Omitted = all.Findings[:contract.MostFindings], over
	}
	return all
}

// failure returns the error of the first finding with which the installation would fail, and names the others. If the only ones
// are that hosts do not reach the depot, the reason is that of a depot which does not answer: it can come back without a user.
func (e enroller) failure(findings []check.Finding) error {
	blocking := slices.DeleteFunc(slices.Clone(findings), func(f check.Finding) bool { return !f.Blocks() })
	if len(blocking) == 0 {
		return nil
	}
	reason := contract.ReasonPreflightFailed
	if !slices.ContainsFunc(blocking, func(f check.Finding) bool { return f.ID != "depot" }) {
		reason = contract.ReasonDepotUnavailable
	}
	first := blocking[0]
	where := "The hosts"
	if i := slices.IndexFunc(e.in.Nodes, func(n contract.Node) bool { return n.Name == first.Host }); i >= 0 {
		where = "Host " + e.in.Nodes[i].Host
	}
	message := fmt.Sprintf("%s: check %s: %s. What to do: %s. Nothing was changed on any host.", where, first.ID, first.Seen, first.Do)
	if reason == contract.ReasonPreflightFailed {
		message += fmt.Sprintf(" If the check is wrong, add %s to spec.checks.disable.", first.ID)
	}
	var others, same []string
	for _, f := range blocking[1:] {
		others = append(others, strings.TrimPrefix(f.Host+" "+f.ID, " "))
		if f.ID == first.ID && f.Host != "" && f.Host != first.Host && !slices.Contains(same, f.Host) {
			same = append(same, f.Host)
		}
	}
	if len(others) > 0 {
		message += fmt.Sprintf(" %s: %s.", session.Count(len(others), "more error"), task.Cut(strings.Join(others, ", "), 200))
	}
	return &task.Error{Reason: reason, Host: first.Host, Step: "check the hosts", Err: errors.New(message), Others: same}
}
