package contract

// ExternalEndpoint reports whether the user's kubespray variables name a load balancer in front of the
// API servers. Then the cluster's own kubeconfig names that load balancer, and BPA keeps this address.
// kubespray ignores apiserver_loadbalancer_domain_name without this variable.
func (s Spec) ExternalEndpoint() bool {
	value, set := s.Vars["loadbalancer_apiserver"]
	return set && string(value) != "null"
}
