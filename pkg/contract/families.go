package contract

import "strings"

// MostNodeBits6 is the largest difference between the prefix lengths of the IPv6 range of pods and that of a node, which kubeadm
// takes (PodSubnetNodeMaskMaxDiff).
const MostNodeBits6 = 16

// Families divides the ranges of PodSubnet or ServiceSubnet, such as "10.233.64.0/18,fd00:1::/112", into those of the two address
// families. ipv6 is empty if the cluster has IPv4 only.
func Families(ranges string) (ipv4, ipv6 string) {
	ipv4, ipv6, _ = strings.Cut(ranges, ",")
	return ipv4, ipv6
}

// NodePrefix6 returns the prefix length of a node's IPv6 range for pods, in a range of pods with this prefix length: kubespray's default,
// or less in a large range.
func NodePrefix6(pods int) int {
	const kubespray = 120 // 254 pods per node
	return min(pods+MostNodeBits6, kubespray)
}
