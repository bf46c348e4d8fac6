package admission

import (
	"strings"
	"testing"
)

func TestContainerRuntime(t *testing.T) {
	for value, refused := range map[string]bool{"containerd": false, `"containerd"`: false, "crio": true, "docker": true, `"{{ runtime }}"`: true, "1": true, "null": true} {
		err := CheckProvisioning(t.Context(), provisioning(t, "masters: [{m: {cpu: 1}}]\nkubespray: {vars: {container_manager: "+value+"}}"))
		if got := err != nil && strings.Contains(err.Error(), "is no container runtime of BPA: spec.kubespray.vars.container_manager"); got != refused {
			t.Errorf("container_manager %s: error %v, refused %v", value, err, refused)
		}
	}
}

func TestValidateVarsFrom(t *testing.T) {
	for name, tc := range map[string]struct{ kubespray, want string }{
		"a mapping":                        {"{varsFrom: [{secretRef: {name: edge-1-vars}}]}", ""},
		"two keys of a Secret":             {"{varsFrom: [{secretRef: {name: a}}, {secretRef: {name: a, key: more.yaml}}]}", ""},
		"a variable":                       {"{varsFrom: [{secretRef: {name: a, key: password}, variable: registry_password}]}", ""},
		"a key for two variables":          {"{varsFrom: [{secretRef: {name: a, key: x}, variable: b}, {secretRef: {name: a, key: x}, variable: c}]}", ""},
		"no name":                          {"{varsFrom: [{secretRef: {}}]}", `"" is not the name of a Secret: spec.kubespray.varsFrom[0].secretRef.name`},
		"a name of no Secret":              {"{varsFrom: [{secretRef: {name: a/b}}]}", `"a/b" is not the name of a Secret`},
		"a key of no Secret":               {"{varsFrom: [{secretRef: {name: a, key: a/b}}]}", `"a/b" is not a key of a Secret: spec.kubespray.varsFrom[0].secretRef.key`},
		"no name of a variable":            {"{varsFrom: [{secretRef: {name: a, key: x}, variable: 1a}]}", `"1a" is not a variable name: spec.kubespray.varsFrom[0].variable`},
		"a variable without a key":         {"{varsFrom: [{secretRef: {name: a}, variable: b}]}", "the key with the value of b is missing"},
		"BPA sets it":                      {"{varsFrom: [{secretRef: {name: a, key: x}, variable: kube_version}]}", "kube_version cannot be set from a Secret"},
		"it is of the connection":          {"{varsFrom: [{secretRef: {name: a, key: x}, variable: ansible_password}]}", "use spec.ssh"},
		"it cannot change":                 {"{varsFrom: [{secretRef: {name: a, key: x}, variable: dns_domain}]}", "set it in spec.kubespray.vars"},
		"BPA reads it":                     {"{varsFrom: [{secretRef: {name: a, key: x}, variable: loadbalancer_apiserver_type}]}", "set it in spec.kubespray.vars"},
		"a checksum":                       {"{varsFrom: [{secretRef: {name: a, key: x}, variable: kubelet_binary_checksum}]}", "set it in spec.kubespray.vars"},
		"a variable twice":                 {"{varsFrom: [{secretRef: {name: a, key: x}, variable: b}, {secretRef: {name: c, key: x}, variable: b}]}", "b is already in varsFrom[0]: spec.kubespray.varsFrom[1]"},
		"a mapping twice":                  {"{varsFrom: [{secretRef: {name: a}}, {secretRef: {name: a, key: vars.yaml}}]}", "key vars.yaml of Secret a is already in varsFrom[0]"},
		"a variable that is also in vars":  {"{vars: {b: 1}, varsFrom: [{secretRef: {name: a, key: x}, variable: b}]}", "b is also in vars: spec.kubespray.varsFrom[0].variable"},
		"a variable with a harmless value": {"{varsFrom: [{secretRef: {name: a, key: x}, variable: registry_password}]}", ""},
		"credentials in a Secret":          {"{varsFrom: [{secretRef: {name: a, key: x}, variable: containerd_registry_auth}]}", "ignores containerd_registry_auth with containerd 2, so nodes would pull without credentials: spec.kubespray.varsFrom[0].variable"},
		"credentials":                      {"{vars: {containerd_registry_auth: []}}", "without credentials: spec.kubespray.vars.containerd_registry_auth"},
		"credentials for containerd 1":     {"{vars: {containerd_registry_auth: [], containerd_version: 1.7.27}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckProvisioning(t.Context(), provisioning(t, "masters: [{m: {cpu: 1}}]\nkubespray: "+tc.kubespray))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
