package hostfile

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/metal3-io/baremetal-operator/pkg/hardwareutils/bmc"
)

// schemes are those that Metal3 v0.13.1 has a driver for, without the suffixes +http and +https that all but ipmi and
// libvirt can have. TestSchemes compares them with Metal3's parser.
var schemes = []string{"ipmi", "libvirt", "redfish", "redfish-virtualmedia", "redfish-uefihttp", "idrac-redfish", "idrac-virtualmedia", "ilo5-redfish", "ilo5-virtualmedia"}

// driver returns Metal3's driver for an address. problem and remedy say what is wrong with the address; empty: nothing. The
// address is in neither of them if a password may be in it.
func driver(address string) (access bmc.AccessDetails, problem, remedy string) {
	const form = "write SCHEME://HOST with one of the schemes "
	if strings.Contains(address, "@") {
		return nil, "the address contains a login", "write the user and the password into the fields username and password"
	}
	u, err := bmc.GetParsedURL(address)
	if err != nil || !validPort(u) {
		return nil, shown(address) + " is no address", "write it as ipmi://10.0.0.5 or redfish://10.0.0.5:8000/redfish/v1/Systems/1, with an IPv6 address in brackets"
	}
	if u.Hostname() == "" {
		return nil, shown(address) + " has no host", form + strings.Join(schemes, ", ")
	}
	if access, err = bmc.NewAccessDetails(address, false); err != nil {
		return nil, "Metal3 has no driver for " + shown(u.Scheme), form + strings.Join(schemes, ", ")
	}
	return access, "", ""
}

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	port, err := strconv.Atoi(u.Port())
	return err == nil && port > 0 && port < 1<<16
}

// endpoint is the system behind a BMC address. One BMC can have several systems, with a path for each.
type endpoint struct{ host, path string }

// endpointOf returns the endpoint of an address; ok is false if the address cannot be parsed. Drivers that reach the same
// port have the same endpoint.
func endpointOf(address string) (e endpoint, ok bool) {
	if address == "" || strings.Contains(address, "@") {
		return e, false
	}
	u, err := bmc.GetParsedURL(address)
	if err != nil || u.Hostname() == "" {
		return e, false
	}
	port := u.Port()
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	path := strings.Trim(u.Path, "/")
	if path == "redfish/v1" { // Metal3 takes it as no path
		path = ""
	}
	return endpoint{strings.ToLower(u.Hostname()) + " " + port, path}, true
}

func defaultPort(scheme string) string {
	switch {
	case scheme == "ipmi" || scheme == "libvirt":
		return "623"
	case strings.HasSuffix(scheme, "+http"):
		return "80"
	}
	return "443"
}

// same reports whether both are one system. An address without a path is that of the only system of its BMC.
func (e endpoint) same(other endpoint) bool {
	return e.host == other.host && (e.path == other.path || e.path == "" || other.path == "")
}
