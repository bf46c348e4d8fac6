package config

import (
	"fmt"
	"path/filepath"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// kubelet returns the kubelet's configuration. It selects cgroupfs, because the machine may have no
// systemd. It permits cgroup v1, because that is still common on the machines that bootstrap must
// support.
func kubelet(l layout.Layout) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[5]s
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[1]s/ca.crt}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
clusterDNS: [%[2]s]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://%[3]s
evictionHard: {memory.available: 100Mi, nodefs.available: "2%%", imagefs.available: "2%%"}
failCgroupV1: false
failSwapOn: false
healthzBindAddress: 127.0.0.1
imageGCHighThresholdPercent: 95
imageGCLowThresholdPercent: 90
maxPods: 200
nodeStatusUpdateFrequency: 5s
podLogsDir: %[4]s
registryPullQPS: 0
resolvConf: %[6]s
serializeImagePulls: false
tlsCertFile: %[1]s/kubelet.crt
tlsPrivateKeyFile: %[1]s/kubelet.key
`, l.PKI(), l.Net().DNSIP(), l.ContainerdSocket(), l.Data("pod-logs"), l.Net().NodeIP(), l.Etc("resolv.conf"))
}

// resolvConf returns the resolv.conf for pods that use the DNS settings of the node. The machine's
// own file would send their queries to servers that pods cannot reach.
func resolvConf(l layout.Layout) string { return "nameserver " + l.Net().DNSIP() + "\n" }

// proxy returns kube-proxy's configuration. On a machine where traffic between pods on the bridge
// does not pass iptables, the address in a reply would not be translated back to the service's
// address. There, kube-proxy masquerades every service connection, so that the reply goes to the
// machine first.
func proxy(l layout.Layout, f Facts) string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: %q}
clusterCIDR: %s
conntrack: {maxPerCore: 0, min: 0}
healthzBindAddress: 127.0.0.1:10256
hostnameOverride: %s
iptables: {masqueradeAll: %t}
metricsBindAddress: 127.0.0.1:10249
mode: iptables
nodePortAddresses: [%s/32]
`, filepath.Join(l.PKI(), "proxy.kubeconfig"), l.Net().Pods, layout.NodeName, !f.BridgeNF, l.Net().NodeIP())
}
