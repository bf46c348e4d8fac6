package hostfile

import (
	"fmt"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// secret is the password of all bad files. No finding may contain it.
const secret = "s3cr3t-word"

// good is a server without errors, in one line of YAML; more is added to it.
func good(n int, more string) string {
	return fmt.Sprintf("- {name: node%d, bmc: {address: ipmi://10.0.0.%d, username: admin, password: %s}%s}\n", n, n, secret, more)
}

// site is a site with a host, whose cards Metal3 has seen, in another namespace.
func site() Site {
	h := metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "site-b", Name: "other"}, Spec: metal3.BareMetalHostSpec{
		BMC: metal3.BMCDetails{Address: "redfish://10.0.0.99:623/redfish/v1/Systems/1"}, BootMACAddress: "02:00:00:00:00:99",
	}}
	h.Status.HardwareDetails = &metal3.HardwareDetails{NIC: []metal3.NIC{{MAC: "02:00:00:00:00:9a"}}}
	leaving := metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "leaving", DeletionTimestamp: &metav1.Time{}}}
	leaving.DeletionTimestamp.Time = metav1.Now().Time
	taken := metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "taken"}, Spec: metal3.BareMetalHostSpec{
		BMC: metal3.BMCDetails{Address: "ipmi://10.0.0.98"}, BootMACAddress: "02:00:00:00:00:98",
	}}
	return Site{Hosts: []metal3.BareMetalHost{h, leaving, taken}, Secrets: map[string]*corev1.Secret{"stranger-bmc-secret": {}}}
}

// badFiles are files with what is found in them, in the order of the lines. "|" separates findings.
var badFiles = []struct{ name, file, text, want string }{
	{"no text", "f.yaml", "", "the file has no server: list"},
	{"no servers", "f.yaml", "nodes: []\n", "the file has no server"},
	{"other top", "f.json", `{"hosts": []}`, "line 1: hosts: this field is unknown: the only field at the top is nodes"},
	{"a list", "f.json", "\n[]", "line 2: the file is no object"},
	{"nodes is no list", "f.yaml", "nodes:\n  a: b\n", "line 2: nodes: this is no list"},
	{"no server in the list", "f.yaml", "nodes:\n- node1\n", "line 2: this is no server"},
	{"broken JSON", "f.json", "{\"nodes\": [\n{\"name\": \"a\", \"password\": \"" + secret + "\n", "line 2: this is not valid JSON"},
	{"text after JSON", "f.json", "{\"nodes\": []}\n}", "line 2: this is not valid JSON"},
	{"deep JSON", "f.json", `{"nodes": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}", "line 1: this is not valid JSON"},
	{"broken YAML", "f.yaml", "nodes:\n- name: a\n  password: \"" + secret + "\n", "this is not valid YAML: correct the syntax near this line; a value"},
	{"password with an asterisk", "f.yaml", "nodes:\n- {name: a, password: *" + secret + "}\n", "this is not valid YAML"},
	{"password with an ampersand", "f.yaml", "nodes:\n- name: a\n  password: &" + secret + "\n", "line 3: anchors, aliases and tags are not read: put a value that begins with &, * or ! into quotes"},
	{"password with an exclamation mark", "f.yaml", "nodes:\n- name: a\n  password: !" + secret + "\n", "line 3: anchors, aliases and tags"},
	{"two documents", "f.yaml", "nodes: []\n---\nnodes: []\n", "line 2: this is not valid YAML"},
	{"broken CSV", "f.csv", "name,address\na,\"" + secret + "\nb,c\n", "this is not valid CSV"},
	{"CSV without a header", "f.csv", "node1,10.0.0.1,admin," + secret + "\n", "line 1: there is no column name: let the first line"},
	{"CSV with an unknown column", "f.csv", "name,addres,username,password\nnode1,10.0.0.1,admin," + secret + "\n",
		"line 2: node1: addres: this field is unknown: did you mean address?|line 2: node1: bmc.address: it is missing"},
	{"CSV with too many cells", "f.csv", "name,address,username,password\nnode1,10.0.0.1,admin,a," + secret + "\n", "line 2: there are more cells than columns"},
	{"CSV with a broken document", "f.csv", "name,address,username,password,net\nnode1,10.0.0.1,admin,a,{x\n", "line 2: net: the cell is not JSON"},
	{"CSV over several lines", "f.csv", "# servers\nname,address,username,password\n", "there is no column name"},
	{"unknown fields", "f.yaml", "nodes:\n" + good(1, ", boot_mode: UEFI, color: red"),
		"line 2: node1: boot_mode: this field is unknown: did you mean bootMode?|line 2: node1: color: this field is unknown: the fields here are name, bmc, ipmi_driver_info,"},
	{"unknown field below", "f.yaml", "nodes:\n- name: a\n  bmc:\n    adress: ipmi://10.0.0.1\n    user: x\n    password: y\n",
		"line 2: a: bmc.username: it is missing|line 4: a: bmc.adress: this field is unknown: did you mean address?|line 5: a: bmc.user: this field is unknown|line 2: a: bmc.address: it is missing"},
	{"a field twice", "f.yaml", "nodes:\n- name: a\n  bmc: {address: 10.0.0.1, username: x, password: y}\n  bootMode: UEFI\n  bootMode: legacy\n", "line 5: a: bootMode: line 4 has this field too"},
	{"two names of a field", "f.yaml", "nodes:\n" + good(1, ", ipmi_driver_info: {address: x}"), "line 2: node1: ipmi_driver_info: bmc in line 2 says the same"},
	{"wrong types", "f.yaml", "nodes:\n- name: [a]\n  bmc: x\n  labels: [a]\n  online: maybe\n  net: 5\n  rootDeviceHints: {size: 5}\n",
		"line 2: name: this is no text|line 3: bmc: this is no object: its fields are username, password, address, disableCertificateVerification|line 4: labels: this is no object|line 5: online: this is neither true nor false|line 6: net: this is no object|line 7: rootDeviceHints: these are no root device hints"},
	{"nothing in a row", "f.json", "{\"nodes\": [\n{}]}", "line 2: name: it is missing: give|line 2: bmc.address: it is missing: write|line 2: bmc.username: it is missing|line 2: bmc.password: it is missing"},
	{"empty credentials", "f.json", "{\"nodes\": [{\"name\": \"a\", \"ipmi_driver_info\": {\"address\": \"10.0.0.1\",\n\"username\": \"\",\n\"password\": null}}]}", "line 1: a: bmc.password: it is missing|line 2: a: ipmi_driver_info.username: it is missing"},
	{"bad name", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "node1", "Pod11_Node1", 1), "name: Pod11_Node1 is no name of an object: use lower case letters, digits, - and ., such as pod11-node1"},
	{"bad name without letters", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "node1", "'__'", 1), "such as node1"},
	{"UUID as a name", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "node1", "3f0c2a10-0000-4000-8000-00000000abcd", 1), "Metal3 accepts no UUID as a name"},
	{"long name", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "node1", strings.Repeat("n", 240), 1), "it has 240 characters: use at most 224"},
	{"no such driver", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "ipmi:", "ilo4:", 1), "bmc.address: Metal3 has no driver for ilo4: write SCHEME://HOST with one of the schemes ipmi, libvirt, redfish,"},
	{"address with a login", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "//", "//root:"+secret+"@", 1), "bmc.address: the address contains a login: write the user and the password into"},
	{"address with a broken login", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "ipmi://10.0.0.1", "'redfish://root:"+secret+"@[10.0.0.1:x'", 1), "bmc.address: the address contains a login"},
	{"address with a bad port", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "10.0.0.1,", "10.0.0.1:70000,", 1), "ipmi://10.0.0.1:70000 is no address"},
	{"address without a host", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "10.0.0.1,", "/redfish,", 1), "ipmi:///redfish has no host"},
	{"address with a bad host", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "10.0.0.1,", "10.0.0_1,", 1), "ipmi://10.0.0_1 is no address"},
	{"boot MAC missing", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "ipmi:", "redfish:", 1), "bootMACAddress: it is missing, and the driver redfish needs it"},
	{"bad MACs", "f.yaml", "nodes:\n" + good(1, ", bootMACAddress: 02:00:00:00:00, net: {links: [{id: a, ethernet_mac_address: nonsense}]}"),
		"line 2: node1: bootMACAddress: 02:00:00:00:00 is no MAC address: write 6 bytes|line 2: node1: ethernet_mac_address: nonsense is no MAC address"},
	{"bad boot mode", "f.yaml", "nodes:\n" + good(1, ", bootMode: uefi"), "bootMode: uefi is no boot mode: write UEFI, UEFISecureBoot or legacy"},
	{"secure boot by IPMI", "f.yaml", "nodes:\n" + good(1, ", bootMode: UEFISecureBoot"), "bootMode: the driver ipmi cannot switch secure boot on"},
	{"bad labels", "f.yaml", "nodes:\n" + good(1, `, labels: {"a b": c, rack: "r 1", bpa.akraino.org/cluster: x, role.bpa.akraino.org/master: x, bpa.akraino.org/qat: "true"}`),
		"labels.a b: this is no name of a label|labels.bpa.akraino.org/cluster: BPA writes this label itself|labels.rack: r 1 is no value of a label|labels.role.bpa.akraino.org/master: BPA writes"},
	{"label that is no text", "f.yaml", "nodes:\n" + good(1, `, labels: {rack: [1]}`), "labels: label rack is no text"},
	{"label twice", "f.yaml", "nodes:\n" + good(1, `, labels: {rack: a, rack: b}`), "labels: label rack is there twice"},
	{"bad network data", "f.yaml", "nodes:\n" + good(1, ", net: {networks: [{id: n, type: ipv4, link: x, ip_address: 10.0.0.300}]}, preprovisioningNetworkData: {networks: [{id: n}]}"),
		`net: networks[0] (id "n"): the ip_address "10.0.0.300" is not an IP address: correct the network data|preprovisioningNetworkData: networks[0] (id "n"): the network has no type`},
	{"bad hints", "f.yaml", "nodes:\n" + good(1, ", rootDeviceHints: {deviceName: sda}") + good(2, ", rootDeviceHints: {minSizeGigabytes: -1}") + good(3, ", rootDeviceHints: {deviceName: /dev/disk/by-id/x}"),
		"line 2: node1: rootDeviceHints: deviceName is sda: write a path in /dev/|line 3: node2: rootDeviceHints: minSizeGigabytes is below 0|line 4: node3: rootDeviceHints: deviceName is /dev/disk/by-id/x"},
	{"duplicates in the file", "f.yaml", "nodes:\n" + good(1, ", bootMACAddress: 02-00-00-00-00-01") + strings.Replace(good(2, ", net: {links: [{id: a, ethernet_mac_address: '02:00:00:00:00:01'}]}"), "10.0.0.2", "10.0.0.1:623", 1) + good(1, ""),
		"line 3: node2: bmc.address: node1 in line 2 has this BMC|line 3: node2: ethernet_mac_address: node1 in line 2 has the MAC address 02:00:00:00:00:01|line 4: node1: name: node1 in line 2 has this name|line 4: node1: bmc.address: node1 in line 2 has this BMC"},
	{"duplicates with the site", "f.yaml", "nodes:\n" + strings.Replace(good(1, ", bootMACAddress: 02:00:00:00:00:9a"), "node1", "other", 1) + good(99, "") + good(3, ", bootMACAddress: 02:00:00:00:00:99"),
		"line 2: other: name: host other of namespace site-b has this name: use another name, or -n site-b if this is that server|line 2: other: bootMACAddress: host other of namespace site-b has the MAC address 02:00:00:00:00:9a|line 3: node99: bmc.address: host other of namespace site-b has this BMC|line 4: node3: bootMACAddress: host other"},
	{"a host that leaves", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "node1", "leaving", 1), "leaving: name: this host is being deleted: wait"},
	{"another server of the name", "f.yaml", "nodes:\n" + strings.Replace(good(1, ", bootMACAddress: 02:00:00:00:00:01"), "node1", "taken", 1), "taken: name: the host of this name has another BMC and another boot MAC address"},
	{"a Secret of others", "f.yaml", "nodes:\n" + strings.Replace(good(1, ""), "node1", "stranger", 1), "stranger: name: there is a Secret stranger-bmc-secret that no import has made"},
	{"control characters", "f.json", `{"nodes": [{"name": "a\u001b[31mb", "ipmi_driver_info": {"address": "10.0.0.1", "username": "x", "password": "y"}}]}`, `\x1b[31mb`},
}

// TestBadFiles: all that is wrong in a file is found at once, with its lines, and no finding has a password.
func TestBadFiles(t *testing.T) {
	for _, tt := range badFiles {
		t.Run(tt.name, func(t *testing.T) {
			f, findings := Parse(FormatOf(tt.file, nil), []byte(tt.text))
			findings = Together(findings, Validate(f.Rows, namespace, site()))
			want := strings.Split(tt.want, "|")
			var got []string
			for _, found := range findings {
				got = append(got, found.String())
				if strings.Contains(found.String(), secret) {
					t.Errorf("a password is in %q", found)
				}
				if found.Remedy == "" || found.Problem == "" {
					t.Errorf("%q lacks the problem or what to do", found)
				}
			}
			for _, w := range want {
				if !strings.Contains(strings.Join(got, "\n"), w) {
					t.Errorf("%q is not in\n%s", w, strings.Join(got, "\n"))
				}
			}
			if len(got) < len(want) || !strings.HasPrefix(tt.name, "wrong types") && len(got) != len(want) {
				t.Errorf("%d findings, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
			}
		})
	}
}
