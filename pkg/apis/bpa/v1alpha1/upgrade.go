package v1alpha1

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"knative.dev/pkg/apis"
)

// percentPattern matches 1% to 100%.
var percentPattern = regexp.MustCompile(`^(100|[1-9][0-9]?)%$`)

func (u *UpgradeSpec) validate() (errs *apis.FieldError) {
	const advice = "write how many workers are upgraded at the same time, such as 2, or a percentage of the workers from 1% to 100%, such as 10%; the default is 1"
	switch m := u.MaxUnavailable; {
	case m == nil:
	case m.Type == intstr.Int && m.IntVal < 1:
		errs = problem("maxUnavailable", advice, "%d is not a positive number", m.IntVal)
	case m.Type == intstr.String && !percentPattern.MatchString(m.StrVal):
		errs = problem("maxUnavailable", advice, "%q is neither a number nor a percentage from 1%% to 100%%", m.StrVal)
	}
	return errs.Also(validateDrain("drainTimeout", u.DrainTimeout))
}

// validateDrain refuses a time limit below a second: tasks count it in seconds, and with 0 they do not
// drain.
func validateDrain(path string, limit *metav1.Duration) *apis.FieldError {
	if limit == nil || limit.Duration >= time.Second {
		return nil
	}
	return problem(path, "write how long the pods of one node may take to leave it, such as 10m", "%s is shorter than 1s", limit.Duration)
}

// Batch returns the number of workers that one run upgrades, of all workers of a cluster: at least 1.
// An invalid value counts as the default.
func (u UpgradeSpec) Batch(workers int) int {
	switch m := u.MaxUnavailable; {
	case m == nil:
		return 1
	case m.Type == intstr.Int:
		return max(int(m.IntVal), 1)
	case percentPattern.MatchString(m.StrVal):
		percent, _ := strconv.Atoi(strings.TrimSuffix(m.StrVal, "%"))
		return max(workers*percent/100, 1)
	}
	return 1
}

// DrainTimeout returns the time limit for the pods of a node that is upgraded to leave it:
// spec.upgrade.drainTimeout, or that of removals.
func (s *ProvisioningSpec) DrainTimeout() time.Duration {
	if d := s.Upgrade.DrainTimeout; d != nil && d.Duration > 0 {
		return d.Duration
	}
	return s.Timeouts.DrainTimeout()
}
