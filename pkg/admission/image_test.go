package admission

import (
	"strings"
	"testing"
)

func TestImageRules(t *testing.T) {
	const (
		adviceURL    = "write the address at which Ironic reaches the file, such as http://10.60.0.1:5000/files/debian-13.qcow2"
		adviceSum    = "write the digest in hexadecimal digits (md5 has 32, sha256 64, sha512 128), or the URL of a file with the digest"
		adviceSecret = "write the name of a Secret in the same namespace, with $(host) for the BareMetalHost's name and $(node) for the node's name"
	)
	image := func(text string) string { return one + "osImage: {" + text + "}" }
	good := "url: 'http://d/i', checksum: 'http://d/i.sum'"
	sha256 := strings.Repeat("0aF", 21) + "1"
	checkRules(t, []rule{
		{"by its sum", image("url: 'https://d/i.qcow2', checksumType: sha256, checksum: " + sha256), ""},
		{"by any sum", image("url: 'http://d:80/i', checksumType: auto, checksum: " + sha256 + sha256), ""},
		{"live", image("url: 'http://d/i.iso', format: live-iso"), ""},
		{"from a registry", image("url: 'oci://d/os/debian:13'"), ""},
		{"signed", image("url: 'http://d/i?key=1', checksum: 'http://d/i.sum'"), ""},
		{"secrets of hosts", image(good + ", userData: user, networkData: net-$(host), metaData: $(node).$(host)"), ""},

		{"no URL", image("url: '', format: live-iso"), "the URL is missing: spec.osImage.url\n" + adviceURL},
		{"half a URL", image("url: 10.60.0.1/i, format: live-iso"), `"10.60.0.1/i" is not a complete URL: spec.osImage.url` + "\n" + adviceURL},
		{"by ftp", image("url: 'ftp://d/i', format: live-iso"), "the URL's scheme is ftp: spec.osImage.url\nuse one of http, https, oci"},
		{"a file of Ironic's own", image("url: 'file:///etc/shadow', format: live-iso"), "the URL's scheme is file: spec.osImage.url\nuse one of http, https, oci"},
		{"a file of Ironic's own by another spelling", image("url: 'FILE://localhost/etc/shadow', format: live-iso"), "the URL's scheme is file: spec.osImage.url\nuse one of http, https, oci"},
		{"a checksum file of Ironic's own", image("url: 'http://d/i', checksum: 'file:///etc/shadow'"), "the URL's scheme is file: spec.osImage.checksum\nuse one of http, https"},
		{"a checksum from a registry", image("url: 'http://d/i', checksum: 'oci://d/sum'"), "the URL's scheme is oci: spec.osImage.checksum\nuse one of http, https"},
		{"no server", image("url: 'http:///i', format: live-iso"), `"http:///i" does not name a server: spec.osImage.url` + "\n" + adviceURL},
		{"no file", image("url: 'http://d/', format: live-iso"), `"http://d/" does not name a file: spec.osImage.url` + "\n" + adviceURL},
		{"a space", image("url: 'http://d/a b', format: live-iso"), `"http://d/a b" contains a character that is not allowed in a URL: spec.osImage.url` + "\n" + adviceURL},
		{"a password", image("url: 'http://me:it@d/i', format: live-iso"),
			"the URL contains credentials: spec.osImage.url\nremove user and password: every user who can read the object can read them"},
		{"format", image(good + ", format: iso"), `"iso" is not an image format: spec.osImage.format` + "\nuse one of raw, qcow2, vdi, vmdk, live-iso, or leave it out"},
		{"no checksum", image("url: 'http://d/i'"), "the image has no checksum: spec.osImage.checksum\n" + adviceSum},
		{"type of checksum", image(good + ", checksumType: crc"), `"crc" is not a checksum type: spec.osImage.checksumType` + "\nuse one of md5, sha256, sha512, auto, or leave it out"},
		{"checksum of another type", image("url: 'http://d/i', checksumType: sha512, checksum: " + sha256), "the checksum has 64 digits, but sha512 has 128: spec.osImage.checksum\n" + adviceSum},
		{"checksum of no type", image("url: 'http://d/i', checksum: abc"), "no supported checksum type has 3 digits: spec.osImage.checksum\n" + adviceSum},
		{"checksum with its type", image("url: 'http://d/i', checksum: 'sha256:" + sha256 + "'"), `"sha256:` + sha256 + `" is not a checksum: spec.osImage.checksum` + "\n" + adviceSum},
		{"checksum by half a URL", image("url: 'http://d/i', checksum: '://d'"), `"://d" is not a complete URL: spec.osImage.checksum` + "\n" + adviceURL},
		{"placeholder", image(good + ", userData: user-$(name)"), `"user-$(name)" contains an unknown placeholder: spec.osImage.userData` + "\n" + adviceSecret},
		{"secret's name", image(good + ", networkData: Net_$(host)"), `"Net_$(host)" is not a valid Secret name: spec.osImage.networkData` + "\n" + adviceSecret},
		{"secret of another namespace", image(good + ", metaData: other/meta"), `"other/meta" is not a valid Secret name: spec.osImage.metaData` + "\n" + adviceSecret},
	})
}

func TestAccessRules(t *testing.T) {
	const adviceFamily = "write one IPv4 range, one IPv6 range, or one of each"
	access := func(text string) string { return one + "access: {" + text + "}" }
	checkRules(t, []rule{
		{"both families", access("subnets: [10.60.0.0/24, 'fd00:60::/64'], interface: enp1s0"), ""},
		{"IPv6 alone", access("subnets: ['fd00:60::/64']"), ""},
		{"no range", access("subnets: [10.60.0.1]"), `"10.60.0.1" is not a subnet: spec.access.subnets[0]` + "\n" + accessAdvice},
		{"IPv4 within IPv6", access("subnets: ['::ffff:10.60.0.0/120']"), `"::ffff:10.60.0.0/120" is not a subnet: spec.access.subnets[0]` + "\n" + accessAdvice},
		{"bits behind the prefix", access("subnets: [10.60.0.7/24]"), `"10.60.0.7/24" is not the first address of its range: spec.access.subnets[0]` + "\nwrite 10.60.0.0/24"},
		{"two of IPv4", access("subnets: [10.60.0.0/24, 10.61.0.0/24]"), "10.60.0.0/24 and 10.61.0.0/24 are of the same address family: spec.access.subnets[1]\n" + adviceFamily},
		{"two of IPv6", access("subnets: ['fd00:60::/64', 'fd00:61::/64']"), "fd00:60::/64 and fd00:61::/64 are of the same address family: spec.access.subnets[1]\n" + adviceFamily},
		{"none beside IPv6", access("subnets: ['fd00:60::/64', x]"), `"x" is not a subnet: spec.access.subnets[1]` + "\n" + accessAdvice},
		{"loopback", access("subnets: [127.0.0.0/8]"), `"127.0.0.0/8" overlaps 127.0.0.0/8 (loopback): spec.access.subnets[0]` + "\n" + accessAdvice},
		{"link-local", access("subnets: ['fe80::/64']"), `"fe80::/64" overlaps fe80::/10 (link-local): spec.access.subnets[0]` + "\n" + accessAdvice},
		{"everything", access("subnets: ['::/0']"), `"::/0" overlaps ::/127 (unspecified and loopback): spec.access.subnets[0]` + "\n" + accessAdvice},
		{"the pods'", access("subnets: [10.233.64.0/20]"),
			"the nodes' subnet 10.233.64.0/20 and the pod subnet 10.233.64.0/18 overlap: spec.access.subnets[0]\nset spec.PodSubnet to a range outside the nodes' subnet"},
		{"the services'", access("subnets: [10.9.0.0/16]") + "\nkubernetes: {serviceSubnet: 10.9.128.0/24}",
			"the nodes' subnet 10.9.0.0/16 and the service subnet 10.9.128.0/24 overlap: spec.access.subnets[0]\nset spec.kubernetes.serviceSubnet to a range outside the nodes' subnet"},
		{"no id", access("interface: 'enp1s0 '"), `"enp1s0 " is not a valid id: spec.access.interface` + "\nwrite the id of a network or a link from the hosts' network data, such as enp1s0"},
	})
}
