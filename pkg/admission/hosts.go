package admission

import (
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// validateHosts checks the namespace of the hosts. It is fixed, because the hosts that the Provisioning holds
// are known by their names in this namespace: with another one, they would stay claimed for ever. Whether a
// policy grants the hosts, only the controller can say: the policy may be created later.
func validateHosts(p *v1alpha1.Provisioning, old *v1alpha1.Provisioning) *apis.FieldError {
	if old != nil && old.HostNamespace() != p.HostNamespace() {
		return problem("hostNamespace", "to use hosts of another namespace, create another Provisioning", "it cannot be changed from %q to %q",
			old.HostNamespace(), p.HostNamespace())
	}
	if name := p.Spec.HostNamespace; name != "" && !isLabel(name) {
		return problem("hostNamespace", labelRule, "%q is not the name of a namespace", name)
	}
	return nil
}
