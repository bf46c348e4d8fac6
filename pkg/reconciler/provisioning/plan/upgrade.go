package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/change"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// rollout returns how an upgrade goes from node to node.
func (s Seen) rollout() change.Rollout {
	workers := 0
	for _, n := range s.Memory.Nodes {
		if !controlPlane(n) {
			workers++
		}
	}
	return change.Rollout{
		MaxUnavailable: s.Upgrade.Batch(workers), DrainSeconds: seconds(s.Limits.UpgradeDrain), DrainsSeconds: seconds(s.Limits.drains()),
		PauseAfterControlPlane: s.Upgrade.PauseAfterControlPlane,
	}
}

// markTargets marks the nodes of a rebuilt record that are half changed: those that were before the newest
// run, and those that this run was to upgrade, if it failed after it was connected to them.
func (s Seen) markTargets(record []contract.Node) {
	renewed := s.Started.Gone()
	if newest := s.Newest(); newest != nil && newest.State == Succeeded {
		renewed = s.Started.Renewed()
	}
	contract.CopyTargets(record, s.Started.Members, renewed)
	u, newest := s.Started.Upgrade, s.Newest()
	before := contract.Installed{Request: s.Started.Spec, Patched: s.Started.Patched}
	for i := range record {
		switch {
		case u == nil || !slices.Contains(u.Nodes, record[i].Name):
		case newest != nil && newest.State == Failed && newest.Touched:
			level, patch := before.Lacks(record[i], s.Started)
			target := &contract.Target{}
			if level {
				target.Version, target.Settings = s.Started.KubernetesVersion, s.Started.SettingsOf(record[i])
			}
			if patch {
				target.Patch = u.Patch
			}
			if begun := record[i].Target.Unpatched(); u.Narrow != nil {
				if target.Variables = u.Narrow.Variables; begun != nil { // the run patches nothing
					target.Patch = begun.Patch
				}
			}
			if record[i].Target = nil; level || target.Patch != "" {
				record[i].Target = target
			}
		case (newest == nil || newest.State == Succeeded) && u.Narrow != nil:
			record[i].Target = record[i].Target.Unpatched()
		case newest == nil || newest.State == Succeeded:
			record[i].Target = nil
		}
	}
}

// upgrading returns how far the requested upgrade is; nil: none is requested.
func (s Seen) upgrading() *change.Progress {
	if s.Memory == nil || !s.Complete() || s.Invalid != "" {
		return nil
	}
	return derive(s, func(d *derived) *once[*change.Progress] { return &d.upgrading }, func() *change.Progress { return change.Upgrading(s.State()) })
}

// upgradeWaiting returns why the upgrade waits, although nothing else is to be done; empty: it does not.
func (s Seen) upgradeWaiting() string {
	if _, changes := s.nextChange(); changes {
		return ""
	}
	if p := s.upgrading(); p != nil && p.Waits != "" {
		return "the " + workOf(p) + " waits: " + s.whyWaits(p) + " (" + p.Versions + ")"
	}
	return ""
}

// workOf names what is under way.
func workOf(p *change.Progress) string {
	text := "upgrade to Kubernetes " + p.To
	if p.From == p.To {
		text = "change of settings"
	}
	switch {
	case p.OnlyPatch:
		return "patch of the operating systems"
	case p.Patch != "":
		return text + " with a patch of the operating systems"
	}
	return text
}

// whyWaits returns why the upgrade waits, with the command that lets it go on if there is one.
func (s Seen) whyWaits(p *change.Progress) string {
	if !p.Paused {
		return p.Waits
	}
	return fmt.Sprintf("%s: `kubectl patch bpa -n %s %s --type merge -p '{\"spec\":{\"upgrade\":{\"pauseAfterControlPlane\":false}}}'`", p.Waits, s.Namespace, s.Name)
}

// upgradeWaits starts nothing while an upgrade waits for a user, except for the check that an earlier run
// has not passed.
func upgradeWaits(s Seen, _ time.Time) (Step, bool) {
	text := s.upgradeWaiting()
	return Step{Do: Stay, Reason: ReasonUpgradeWaiting, Message: text}, text != "" && !s.asked() && !s.owesCheck()
}

// reportUpgrade reports an upgrade that is under way, has failed or waits.
func reportUpgrade(status *v1alpha1.ProvisioningStatus, s Seen) {
	p := s.upgrading()
	if s.Memory != nil {
		status.Patched = s.Memory.Patched
	}
	if status.Upgrade = nil; p == nil || s.Deleting {
		return
	}
	message := p.Versions
	switch refused := s.refused(false); {
	case p.Hop == "" && len(refused) > 0:
		message += ". It does not go on: " + refusedText(refused)
	case s.upgradeStopped() != "":
		message = strings.TrimPrefix(s.upgradeStopped(), ". ")
	case p.Waits != "":
		message += ". It waits: " + s.whyWaits(p)
	}
	status.Upgrade = &v1alpha1.UpgradeStatus{
		From: p.From, To: p.To, Hop: p.Hop, Newest: p.Newest, Done: int32(p.Done), Total: int32(p.Total), Message: cut(message, longestMessage),
		Patch: p.Patch, OnlyPatch: p.OnlyPatch,
	}
}

// upgradeStopped describes, as the end of a sentence about the failure, which nodes a failed run of an
// upgrade leaves at which version. It is empty if the newest run is no such run.
func (s Seen) upgradeStopped() string {
	newest, u := s.Newest(), s.Started.Upgrade
	if newest == nil || newest.State != Failed || u == nil || !contract.OperationOf(newest.Operation).Upgrades() {
		return ""
	}
	p := s.upgrading()
	if p == nil {
		return ""
	}
	var untouched, left []string
	for _, n := range s.Memory.Nodes {
		level, patch := s.Memory.Lacks(n, s.Started)
		switch {
		case !level && !patch:
		case slices.Contains(u.Nodes, n.Name):
			left = append(left, n.Name)
		default:
			untouched = append(untouched, n.Name)
		}
	}
	text := ". Versions of the nodes: " + p.Versions
	if len(untouched) > 0 {
		text += ". Not touched by the run: " + some(untouched, ", ")
	}
	if len(left) > 0 {
		text += ". The next attempt goes on with " + some(left, ", ")
	}
	return text
}
