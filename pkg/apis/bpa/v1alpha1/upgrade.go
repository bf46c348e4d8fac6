package v1alpha1

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// percentPattern matches 1% to 100%.
var percentPattern = regexp.MustCompile(`^(100|[1-9][0-9]?)%$`)

// Batch returns the number of workers that one run upgrades, of all workers of a cluster: at least 1.
// An invalid value counts as the default.
func (u UpgradeSpec) Batch(workers int) int {
	switch m := u.MaxUnavailable; {
	case m == nil:
		return 1
	case m.Type == intstr.Int:
		return max(int(m.IntVal), 1)
	}
	if percent, ok := u.Percent(); ok {
		return max(workers*percent/100, 1)
	}
	return 1
}

// Percent returns maxUnavailable as a number from 1 to 100, without the sign. It is false if the field has no such
// percentage.
func (u UpgradeSpec) Percent() (int, bool) {
	if u.MaxUnavailable == nil || !percentPattern.MatchString(u.MaxUnavailable.StrVal) {
		return 0, false
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(u.MaxUnavailable.StrVal, "%"))
	return percent, err == nil
}

// DrainTimeout returns the time limit for the pods of a node that is upgraded to leave it:
// spec.upgrade.drainTimeout, or that of removals.
func (s *ProvisioningSpec) DrainTimeout() time.Duration {
	if d := s.Upgrade.DrainTimeout; d != nil && d.Duration > 0 {
		return d.Duration
	}
	return s.Timeouts.DrainTimeout()
}
