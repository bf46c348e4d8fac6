package plan

import (
	"slices"

	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// unobserved is the reason that knative gives to Ready before the first reconcile of a new generation. The
// other conditions are then those of an earlier spec.
const unobserved = "NewObservedGenFailure"

// Unapplied reports whether the stored status says that a part of the present spec was not applied, and
// reports no upgrade. A status of this build has status.upgrade, unless the upgrade itself is refused. So
// an upgrade that can begin now was refused by an earlier build, perhaps long ago.
func Unapplied(p *v1alpha1.Provisioning) bool {
	status := &p.Status
	ready := status.GetCondition(v1alpha1.ConditionReady)
	return status.ObservedGeneration == p.Generation && status.Upgrade == nil && ready != nil && ready.Reason != unobserved &&
		slices.ContainsFunc(status.Conditions, func(c apis.Condition) bool { return c.Reason == ReasonSpecChanged })
}

// UnconfirmedIn returns the upgrade in the stored status that waits for a confirmation.
func UnconfirmedIn(status *v1alpha1.ProvisioningStatus) string {
	if status.Upgrade == nil {
		return ""
	}
	return status.Upgrade.Unconfirmed
}

// unconfirmedUpgrade reports whether the spec requests an upgrade that must not begin before a user requests
// it with the retry annotation, because an earlier build did not apply it. The edit can be old when BPA is
// upgraded, and an upgrade drains all nodes. Other edits do not confirm it, but another version, release
// or variable is a new edit.
func (s Seen) unconfirmedUpgrade() bool {
	if s.asked() {
		return false
	}
	if p := s.upgrading(); p == nil || p.Hop == "" || p.OnlyPatch { // an older build knows no patch, so its request is new
		return false
	}
	if s.fromOlderBuild() {
		return true
	}
	return (s.Unapplied || s.Unconfirmed == s.requestedLevel()) && !s.hasUpgraded()
}

// hasUpgraded reports whether a run was to upgrade nodes for the present spec. Such a run shows that the
// upgrade was confirmed or needed no confirmation.
func (s Seen) hasUpgraded() bool {
	return slices.ContainsFunc(s.Runs, func(r Run) bool {
		return r.Inputs == s.Inputs && contract.OperationOf(r.Operation).Upgrades()
	})
}

// requestedLevel identifies the version, the release and the variables that the spec requests.
func (s Seen) requestedLevel() string {
	return s.Request.KubernetesVersion + " " + s.Request.Settings()
}
