package admission

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestOperatingSystems(t *testing.T) {
	for _, good := range []string{"", "ubuntu-24.04", "debian-12", "rocky-9.5", "opensuse-leap-15.6", "flatcar-4152.2.0"} {
		if err := validateSystem(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

const one = "masters: [{m: {cpu: 1}}]\n"

func TestNetworkRules(t *testing.T) {
	overlap := func(pods, services string) string {
		return "pod subnet " + pods + " and service subnet " + services + " overlap: spec.PodSubnet, spec.kubernetes.serviceSubnet\n" +
			"use two ranges that do not overlap; the defaults are 10.233.64.0/18 for pods and 10.233.0.0/18 for services"
	}
	checkRules(t, []rule{
		{"no CIDR", one + "PodSubnet: 10.244.64.0", `"10.244.64.0" is not a subnet: spec.PodSubnet` + "\n" + subnetAdvice},
		{"quotes inside", one + "PodSubnet: '10.244.0.0/16\" x=\"'", `"10.244.0.0/16\" x=\"" is not a subnet: spec.PodSubnet` + "\n" + subnetAdvice},
		{"IPv6", one + "PodSubnet: fd00::/56",
			`"fd00::/56" is of the other address family: the IPv4 range is the first one, and no cluster has IPv6 alone: spec.PodSubnet` + "\n" + subnetAdvice},
		{"bits behind the prefix", one + "PodSubnet: 10.244.65.7/18",
			`"10.244.65.7/18" is not the first address of its range: spec.PodSubnet` + "\nwrite 10.244.64.0/18"},
		{"loopback", one + "PodSubnet: 127.0.0.0/16", `"127.0.0.0/16" overlaps 127.0.0.0/8 (loopback): spec.PodSubnet` + "\n" + subnetAdvice},
		{"link-local", one + "kubernetes: {serviceSubnet: 169.254.0.0/16}",
			`"169.254.0.0/16" overlaps 169.254.0.0/16 (link-local): spec.kubernetes.serviceSubnet` + "\n" + subnetAdvice},
		{"everything", one + "PodSubnet: 0.0.0.0/0", `"0.0.0.0/0" overlaps 0.0.0.0/8 (this network): spec.PodSubnet` + "\n" + subnetAdvice},
		{"pods and services are the same", one + "PodSubnet: 10.0.0.0/16\nkubernetes: {serviceSubnet: 10.0.0.0/16}", overlap("10.0.0.0/16", "10.0.0.0/16")},
		{"pods hold the default services", one + "PodSubnet: 10.233.0.0/16", overlap("10.233.0.0/16", "10.233.0.0/18")},
		{"services too small", one + "kubernetes: {serviceSubnet: 10.1.0.0/29}",
			"10.1.0.0/29 is too small for services: spec.kubernetes.serviceSubnet\nwrite a /28 or a larger range"},
		{"too many nodes", manyMasters(65), "10.233.64.0/18 has no room for 65 nodes with a /24 each: spec.PodSubnet\n" +
			"write a larger range, or give each node a smaller range with spec.kubespray.vars.kube_network_node_prefix"},
		{"smaller than a node's piece", one + "PodSubnet: 10.9.0.0/25", "10.9.0.0/25 has no room for 1 nodes with a /24 each: spec.PodSubnet\n" +
			"write a larger range, or give each node a smaller range with spec.kubespray.vars.kube_network_node_prefix"},
	})
}

// Clusters with both address families.
func TestFamilyRules(t *testing.T) {
	const nodes = one + "access: {subnets: [10.60.0.0/24, 'fd00::/64']}\n"
	const pods, services = "PodSubnet: '10.244.0.0/16,fd00:1::/64'\n", "kubernetes: {serviceSubnet: '10.233.0.0/18,fd00:2::/112'}\n"
	checkRules(t, []rule{
		{"IPv4 twice", nodes + "PodSubnet: '10.244.0.0/16,10.9.0.0/16'\n" + services,
			`"10.9.0.0/16" is of the other address family: the IPv4 range is the first one, and no cluster has IPv6 alone: spec.PodSubnet` + "\n" + subnet6Advice},
		{"three ranges", nodes + "PodSubnet: '10.244.0.0/16,fd00:1::/64,fd00:3::/64'\n" + services, `"fd00:1::/64,fd00:3::/64" is not a subnet: spec.PodSubnet` + "\n" + subnet6Advice},
		{"link-local", nodes + "PodSubnet: '10.244.0.0/16,fe80::/64'\n" + services, `"fe80::/64" overlaps fe80::/10 (link-local): spec.PodSubnet` + "\n" + subnet6Advice},
		{"services have one", nodes + pods + "kubernetes: {serviceSubnet: 10.233.0.0/18}",
			"pods have both families, and services have one: spec.kubernetes.serviceSubnet\nadd an IPv6 range from /108 to /124 after a comma, or remove that of pods"},
		{"pods have one", nodes + services, "services have both families, and pods have one: spec.PodSubnet\nadd an IPv6 range after a comma, or remove that of services"},
		{"too many services", nodes + pods + "kubernetes: {serviceSubnet: '10.233.0.0/18,fd00:2::/64'}",
			"fd00:2::/64 is no range that Kubernetes takes for services: spec.kubernetes.serviceSubnet\nwrite a range from /108 to /124"},
		{"too few services", nodes + pods + "kubernetes: {serviceSubnet: '10.233.0.0/18,fd00:2::/125'}",
			"fd00:2::/125 is no range that Kubernetes takes for services: spec.kubernetes.serviceSubnet\nwrite a range from /108 to /124"},
		{"overlap", nodes + pods + "kubernetes: {serviceSubnet: '10.233.0.0/18,fd00:1::/112'}", "pod subnet fd00:1::/64 and service subnet fd00:1::/112 overlap: spec.PodSubnet, spec.kubernetes.serviceSubnet\n" +
			"use two ranges that do not overlap; the defaults are 10.233.64.0/18 for pods and 10.233.0.0/18 for services"},
		{"nodes in the range of pods", one + "access: {subnets: [10.60.0.0/24, 'fd00:1::/80']}\n" + pods + services,
			"the nodes' subnet fd00:1::/80 and the pod subnet fd00:1::/64 overlap: spec.access.subnets[1]\nset spec.PodSubnet to a range outside the nodes' subnet"},
		{"the nodes' ranges are not known", one + pods + services, "a cluster with both families needs nodes that have an address of each: spec.access.subnets\n" +
			"write the IPv4 range and the IPv6 range of the nodes' addresses"},
		{"a plugin of one family", nodes + pods + "kubernetes: {networkPlugin: macvlan}", "kubespray gives pods of macvlan one family only: spec.kubernetes.networkPlugin\nuse flannel, calico, cilium or kube-ovn"},
		{"also by variable", nodes + pods + "kubespray: {vars: {ipv6_stack: true}}", "the two ranges in spec.PodSubnet say the same: spec.kubespray.vars.ipv6_stack\nremove it"},
		{"no room", nodes + "PodSubnet: '10.244.0.0/16,fd00:1::/121'\n" + services, "fd00:1::/121 has no room for 1 nodes with a /120 each: spec.PodSubnet\n" +
			"write a larger IPv6 range, or give each node a smaller one with spec.kubespray.vars.kube_network_node_prefix_ipv6"},
		{"kubeadm does not divide it so", nodes + pods + "kubespray: {vars: {kube_network_node_prefix_ipv6: 112}}",
			"kubeadm does not divide fd00:1::/64 into ranges of /112: spec.kubespray.vars.kube_network_node_prefix_ipv6\nremove it, or write at most 80"},
	})
}

func TestSettingRules(t *testing.T) {
	const depotAdvice = "write the depot's address at which the nodes reach it, such as https://10.60.0.1:5443"
	const releaseAdvice = "write the part after kubespray- in the name of the release's Task (kubectl get tasks -n bpa-system), such as v2.31.0"
	const systemAdvice = "write ID-VERSION_ID from the hosts' /etc/os-release, such as ubuntu-24.04"
	const userAdvice = "use at most 32 letters, digits, dots, dashes and underscores; begin with a letter or underscore"
	const secretAdvice = "write the name of a Secret of type kubernetes.io/ssh-auth in the same namespace"
	checkRules(t, []rule{
		{"version of two numbers", one + "kubernetes: {version: '1.35'}",
			`"1.35" is not a Kubernetes version: spec.kubernetes.version` + "\nwrite all three numbers, such as 1.35.4"},
		{"unknown network plugin", one + "kubernetes: {networkPlugin: weave}",
			`"weave" is not a network plugin of kubespray: spec.kubernetes.networkPlugin` +
				"\nuse one of calico, cilium, cni, custom_cni, flannel, kube-ovn, kube-router, macvlan, none"},
		{"user with a space", one + "ssh: {user: 'root ansible_become=true'}",
			`"root ansible_become=true" is not a valid user name: spec.ssh.user` + "\n" + userAdvice},
		{"user is an option", one + "ssh: {user: -oProxyCommand=x}", `"-oProxyCommand=x" is not a valid user name: spec.ssh.user` + "\n" + userAdvice},
		{"user is a value of Python", one + "ssh: {user: 'True'}", `user name "True" has a special meaning in Ansible inventories: spec.ssh.user` + "\nlog in as another user"},
		{"user is nothing to Python", one + "ssh: {user: None}", `user name "None" has a special meaning in Ansible inventories: spec.ssh.user` + "\nlog in as another user"},
		{"negative port", one + "ssh: {port: -22}", "-22 is not a port number: spec.ssh.port\nwrite a number from 1 to 65535; the default is 22"},
		{"secret's name", one + "ssh: {secretName: My_Key}", `"My_Key" is not a valid Secret name: spec.ssh.secretName` + "\n" + secretAdvice},
		{"depot without scheme", one + "depot: {url: '10.60.0.1:5000'}", `"10.60.0.1:5000" is not a URL: spec.depot.url` + "\n" + depotAdvice},
		{"images by ftp", one + "depot: {imageURL: 'ftp://depot/'}", `"ftp://depot" is neither http nor https: spec.depot.imageURL` + "\n" + depotAdvice},
		{"unknown source of checksums", one + "depot: {checksums: depot}",
			`"depot" is not a checksum source: spec.depot.checksums` + "\nuse Kubespray or Depot; the default is Kubespray"},
		{"system without a version", one + "operatingSystem: ubuntu", `"ubuntu" is not an operating system with a version: spec.operatingSystem` + "\n" + systemAdvice},
		{"system with a way out", one + "operatingSystem: ../ubuntu-24.04", `"../ubuntu-24.04" is not an operating system with a version: spec.operatingSystem` + "\n" + systemAdvice},
		{"system in prose", one + "operatingSystem: Ubuntu 24.04", `"Ubuntu 24.04" is not an operating system with a version: spec.operatingSystem` + "\n" + systemAdvice},
		{"depot without TLS", one + "depot: {url: 'http://depot:5000/'}",
			`"http://depot:5000" is plain HTTP: anyone on the network path can change what is installed on the nodes: spec.depot.url` +
				"\nwrite the depot's https address, and caBundle if the nodes do not trust its certificate; to accept plain HTTP, set insecure: true"},
		{"depot without TLS, in capitals", one + "depot: {url: 'HTTP://depot'}",
			`"HTTP://depot" is plain HTTP: anyone on the network path can change what is installed on the nodes: spec.depot.url` +
				"\nwrite the depot's https address, and caBundle if the nodes do not trust its certificate; to accept plain HTTP, set insecure: true"},
		{"depot by ftp", one + "depot: {url: 'ftp://depot/'}", `"ftp://depot" is neither http nor https: spec.depot.url` + "\n" + depotAdvice},
		{"depot with a password", one + "depot: {url: 'https://me:secret@depot'}",
			"the URL contains credentials: spec.depot.url\nremove user and password: the nodes read from the depot without credentials"},
		{"depot with an at sign", one + "depot: {url: 'https://depot/a@b'}", `"https://depot/a@b" contains '@', which is not allowed in the address of a depot: spec.depot.url` + "\n" + depotAdvice},
		{"depot with a query", one + "depot: {url: 'https://depot/?a=b'}", `"https://depot/?a=b" has a query: spec.depot.url` + "\n" + depotAdvice},
		{"depot with a line break", one + "depot: {url: \"https://depot\\nx\"}",
			`"https://depot\nx" contains '\n', which is not allowed in the address of a depot: spec.depot.url` + "\n" + depotAdvice},
		{"depot with a template", one + "depot: {url: 'https://{{x}}'}", `"https://{{x}}" contains '{', which is not allowed in the address of a depot: spec.depot.url` + "\n" + depotAdvice},
		{"no time", one + "timeouts: {install: 0s}", "0s is not positive: spec.timeouts.install\nwrite how long one attempt may take, such as 2h"},
		{"almost no time to drain", one + "timeouts: {drain: 999ms}", "999ms is shorter than 1s: spec.timeouts.drain\nwrite how long the pods of one node may take to leave it, such as 10m"},
		{"no time to drain", one + "timeouts: {drain: -1s}", "-1s is shorter than 1s: spec.timeouts.drain\nwrite how long the pods of one node may take to leave it, such as 10m"},
		{"unknown policy", one + "replacePolicy: Always", "\"Always\" is not a replacement policy: spec.replacePolicy\nuse Standby, Any or Never; the default is Standby"},
		{"high priority", one + "priority: 1001", "1001 is not a priority: spec.priority\nwrite a number from -1000 to 1000; the default is 0"},
		{"low priority", one + "priority: -1001", "-1001 is not a priority: spec.priority\nwrite a number from -1000 to 1000; the default is 0"},
		{"release with a path", one + "kubespray: {release: ../v2.31.0}", `"../v2.31.0" is not a release name: spec.kubespray.release` + "\n" + releaseAdvice},
		{"release that is too long", one + "kubespray: {release: v2.31.0-aaaaaaaaaabbbbbbbbbbccccccccccdddd}",
			`"v2.31.0-aaaaaaaaaabbbbbbbbbbccccccccccdddd" is not a release name: spec.kubespray.release` + "\n" + releaseAdvice},
		{"variable with a space", one + "kubespray: {vars: {'a b': 1}}",
			`"a b" is not a variable name: spec.kubespray.vars` + "\nuse letters, digits and underscores, and begin with a letter or underscore"},
		{"variable of the connection", one + "kubespray: {vars: {ansible_ssh_common_args: -oProxyCommand=x}}",
			"ansible_ssh_common_args cannot be set here: spec.kubespray.vars.ansible_ssh_common_args\n" +
				"BPA configures the connection: use spec.ssh, and the address in the BareMetalHost"},
		{"variable with a field of its own", one + "kubespray: {vars: {kube_pods_subnet: 10.0.0.0/8}}",
			"kube_pods_subnet cannot be set here: spec.kubespray.vars.kube_pods_subnet\nset spec.PodSubnet"},
	})
}

// The schema also rejects unknown network plugins, so both lists must be equal.
func TestNetworkPluginsAreThoseOfTheSchema(t *testing.T) {
	raw, err := os.ReadFile("../../config/300-provisionings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	var got []string
	for _, value := range spec.Properties["kubernetes"].Properties["networkPlugin"].Enum {
		var name string
		if err := json.Unmarshal(value.Raw, &name); err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	if diff := cmp.Diff(networkPlugins, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A spec with only default values must pass validation.
func TestDefaultsPass(t *testing.T) {
	if errs, warnings := findings(context.Background(), provisioning(t, one)); errs+warnings != "" {
		t.Errorf("defaults do not pass: %s%s", errs, warnings)
	}
}
