package facts

import (
	"regexp"
	"slices"
	"strconv"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// Grants reports whether a policy grants the hosts of its namespace to claims in a namespace with these
// labels. It decides as Metal3 does for its own HostClaims: all conditions of the policy must hold, a policy
// without the field hostClaimNamespaces grants nothing, and nameMatches may match any part of the name. A
// policy whose expression is invalid grants nothing.
func Grants(policy *metal3.HostDeployPolicy, namespace string, labels map[string]string) bool {
	to := policy.Spec.HostClaimNamespaces
	if to == nil || to.Names != nil && !slices.Contains(to.Names, namespace) {
		return false
	}
	if to.NameMatches != "" {
		if ok, err := regexp.MatchString(to.NameMatches, namespace); err != nil || !ok {
			return false
		}
	}
	return !slices.ContainsFunc(to.HasLabels, func(want metal3.NameValuePair) bool {
		value, has := labels[want.Name]
		return !has || want.Value != "" && value != want.Value
	})
}

// MaxHosts reads the annotation contract.AnnotationMaxHosts of a namespace. A value that is no number counts as 0:
// the administrator who set it wanted a limit.
func MaxHosts(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0
	}
	return max(0, n)
}
