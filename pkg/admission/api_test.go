package admission

import (
	"strings"
	"testing"

	"knative.dev/pkg/apis"
)

func TestValidateAPI(t *testing.T) {
	for name, tc := range map[string]struct{ api, vars, want string }{
		"none":                        {"{}", "", ""},
		"mode Node":                   {"{mode: Node}", "", ""},
		"names in mode Node":          {"{names: [api.example, 10.0.0.9, 'fd00::9', '*.edge.example']}", "", ""},
		"a name":                      {"{mode: External, address: api.edge-1.example}", "", ""},
		"an address and a port":       {"{mode: External, address: 10.60.0.5, port: 8443}", "", ""},
		"mode VIP":                    {"{mode: VIP, address: 10.60.0.5}", "", ""},
		"mode VIP with its port":      {"{mode: VIP, address: 10.60.0.5, port: 6443}", "", ""},
		"a variable that differs":     {"{mode: External, address: 10.60.0.5}", "{kube_apiserver_port: 7443}", ""},
		"a variable beside names":     {"{mode: External, address: 10.60.0.5}", "{supplementary_addresses_in_ssl_keys: [a]}", ""},
		"variables without the field": {"{mode: Node}", "{loadbalancer_apiserver: {address: 10.60.0.5, port: 6443}}", ""},

		"an address in mode Node":     {"{address: 10.60.0.5}", "", "no other one: spec.kubernetes.api.mode"},
		"a port in mode Node":         {"{mode: Node, port: 6443}", "", "no other one: spec.kubernetes.api.mode"},
		"mode VIP, no address":        {"{mode: VIP}", "", `"" is no IPv4 address, which mode VIP needs: spec.kubernetes.api.address`},
		"mode VIP, a name":            {"{mode: VIP, address: api.example}", "", `"api.example" is no IPv4 address`},
		"mode VIP, IPv6":              {"{mode: VIP, address: 'fd00::5'}", "", `"fd00::5" is no IPv4 address`},
		"mode VIP, another port":      {"{mode: VIP, address: 10.60.0.5, port: 8443}", "", "in mode VIP, the port is 6443: the API servers listen on it: spec.kubernetes.api.port"},
		"mode VIP, a pod's address":   {"{mode: VIP, address: 10.233.64.9}", "", "10.233.64.9 is in the pod subnet"},
		"mode VIP, a service's":       {"{mode: VIP, address: 10.233.0.9}", "", "10.233.0.9 is in the service subnet"},
		"mode VIP, multicast":         {"{mode: VIP, address: 224.0.0.18}", "", "224.0.0.18 is in 224.0.0.0/3"},
		"mode VIP, kube-vip too":      {"{mode: VIP, address: 10.60.0.5}", "{kube_vip_enabled: true}", "spec.kubespray.vars.kube_vip_enabled also says"},
		"mode VIP, the servers' port": {"{mode: VIP, address: 10.60.0.5}", "{kube_apiserver_port: 7443}", "mode VIP needs their defaults: spec.kubernetes.api.mode"},
		"another mode":                {"{mode: DNS}", "", `"DNS" is no mode: spec.kubernetes.api.mode`},
		"no address":                  {"{mode: External}", "", "mode External needs the address of the load balancer: spec.kubernetes.api.address"},
		"no name":                     {"{mode: External, address: 'a b'}", "", `"a b" is neither an IP address nor a DNS name in lower case: spec.kubernetes.api.address`},
		"a URL":                       {"{mode: External, address: 'https://api.example'}", "", "neither an IP address nor a DNS name"},
		"a wrong IP address":          {"{mode: External, address: 10.60.0.500}", "", "neither an IP address nor a DNS name"},
		"IPv6":                        {"{mode: External, address: 'fd00::5'}", "", `"fd00::5" is an IPv6 address, which cannot be used here`},
		"the machine itself":          {"{mode: External, address: localhost}", "", `"localhost" names the machine itself`},
		"loopback":                    {"{mode: External, address: 127.0.0.1}", "", "127.0.0.1 is in 127.0.0.0/8 (loopback)"},
		"an address of a pod":         {"{mode: External, address: 10.233.64.9}", "", "10.233.64.9 is in the pod subnet 10.233.64.0/18 of the cluster"},
		"an address of a service":     {"{mode: External, address: 10.233.0.9}", "", "10.233.0.9 is in the service subnet 10.233.0.0/18 of the cluster"},
		"a wrong name":                {"{names: [ok.example, A.example]}", "", `"A.example" is neither a DNS name nor an IP address: spec.kubernetes.api.names`},
		"the address in variables":    {"{mode: External, address: 10.60.0.5}", "{loadbalancer_apiserver: {address: 10.60.0.5}}", "spec.kubespray.vars.loadbalancer_apiserver also says how the API servers are reached: spec.kubernetes.api.mode"},
		"kube-vip beside it":          {"{mode: External, address: 10.60.0.5}", "{kube_vip_enabled: true}", "spec.kubespray.vars.kube_vip_enabled also says"},
		"names in variables as well":  {"{names: [a.example]}", "{supplementary_addresses_in_ssl_keys: [b]}", "spec.kubernetes.api.names says the same: spec.kubespray.vars.supplementary_addresses_in_ssl_keys"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := "masters: [{m: {cpu: 1}}]\nkubernetes: {api: " + tc.api + "}"
			if tc.vars != "" {
				spec += "\nkubespray: {vars: " + tc.vars + "}"
			}
			err := CheckProvisioning(t.Context(), provisioning(t, spec))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestAddressOfAnInstalledCluster: the address stays, in any notation.
func TestAddressOfAnInstalledCluster(t *testing.T) {
	for name, tc := range map[string]struct{ was, is, want string }{
		"nothing and mode Node":    {"", "{mode: Node}", ""},
		"the default port":         {"{mode: External, address: a.example}", "{mode: External, address: a.example, port: 6443}", ""},
		"names in another order":   {"{names: [a, b]}", "{names: [b, a]}", ""},
		"a load balancer is added": {"", "{mode: External, address: a.example}", "which cannot change to a.example:6443: spec.kubernetes.api"},
		"a load balancer goes":     {"{mode: External, address: a.example}", "{mode: Node}", "have a.example:6443 as the address of the API servers, which cannot change to that of a control plane"},
		"another port":             {"{mode: External, address: a.example}", "{mode: External, address: a.example, port: 8443}", "cannot change to a.example:8443"},
		"one more name":            {"{names: [a]}", "{names: [a, b]}", "(with the names a, b)"},
		"another load balancer":    {"{mode: External, address: a.example}", "{mode: External, address: b.example}", "cannot change to b.example:6443"},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(api string) string {
				if api == "" {
					return "masters: [{m: {cpu: 1}}]"
				}
				return "masters: [{m: {cpu: 1}}]\nkubernetes: {api: " + api + "}"
			}
			was := provisioning(t, read(tc.was))
			was.Status.InstalledDigest = "v3:sha256:x"
			err := CheckProvisioning(apis.WithinUpdate(t.Context(), was), provisioning(t, read(tc.is)))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
