package contract

import (
	"encoding/json"
	"net"
	"strconv"
)

// API is the address of the API servers, and the names in their certificate. nil: the address of a control plane, and no
// further names.
type API struct {
	// Address is the IP address or the DNS name of the load balancer in front of the API servers, and Port its port.
	// Empty and 0: users reach the API server of a control plane.
	Address string `json:"address,omitempty"`
	Port    int    `json:"port,omitempty"`
	// Virtual reports that the address is that of no load balancer: it moves between the control planes, which BPA sets up.
	Virtual bool `json:"virtual,omitempty"`
	// Names are further DNS names and IP addresses of the certificate, sorted.
	Names []string `json:"names,omitempty"`
}

// Balanced reports whether a load balancer, or an address that moves, is in front of the API servers.
func (a *API) Balanced() bool { return a != nil && a.Address != "" }

// Moves reports whether the address moves between the control planes.
func (a *API) Moves() bool { return a.Balanced() && a.Virtual }

// KeepalivedImage has keepalived and curl, for the address that moves. docs/day-one.md says how a site gets it.
const KeepalivedImage = "docker.io/akraino-icn/keepalived:2.2.7"

// URL returns the address of the load balancer, such as https://api.example:6443; empty: there is none.
func (a *API) URL() string {
	if !a.Balanced() {
		return ""
	}
	return "https://" + net.JoinHostPort(a.Address, strconv.Itoa(a.Port))
}

// ExternalEndpoint reports whether the spec, or the user's kubespray variables, name a load balancer in front of the
// API servers. Then the cluster's own kubeconfig names that load balancer, and BPA keeps this address.
// kubespray ignores apiserver_loadbalancer_domain_name without this variable.
func (s Spec) ExternalEndpoint() bool {
	value, set := s.Vars["loadbalancer_apiserver"]
	return s.API.Balanced() || set && string(value) != "null"
}

// defaultAPIPort is kubespray's default of kube_apiserver_port.
const defaultAPIPort = 6443

// APIServerURL returns the URL of the API server on a control plane with this IP address, whatever is in front of it. port
// is the value of the user's variable kube_apiserver_port, as JSON; nil: it is not set.
func APIServerURL(address string, port json.RawMessage) string {
	var number int
	if json.Unmarshal(port, &number) != nil || number <= 0 || number > 65535 {
		number = defaultAPIPort
	}
	return "https://" + net.JoinHostPort(address, strconv.Itoa(number))
}
