package adopt

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// Question is a command of kubectl, by which a cluster is asked for a part of what Cluster has.
type Question struct {
	Arguments string
	Read      func(c *Cluster, answer []byte) error
}

// Questions are all of them. They change nothing.
var Questions = []Question{
	{"get nodes --output json", readNodes},
	{"--namespace kube-system get configmap kubeadm-config --output json", readKubeadm},
	{"--namespace kube-system get configmap kube-root-ca.crt --output json", readCA},
	{"--namespace kube-system get daemonsets --output name", readPlugin},
}

// controlPlane is the label of control planes, and the key of their taint.
const controlPlane = "node-role.kubernetes.io/control-plane"

func readNodes(c *Cluster, answer []byte) error {
	var list corev1.NodeList
	if err := json.Unmarshal(answer, &list); err != nil {
		return fmt.Errorf("the list of nodes is unreadable: %w", err)
	}
	for _, n := range list.Items {
		node := Node{Name: n.Name, Version: strings.TrimPrefix(n.Status.NodeInfo.KubeletVersion, "v"), Created: n.CreationTimestamp.Time, Roles: []string{contract.RoleWorker}}
		if _, is := n.Labels[controlPlane]; is {
			node.Roles = []string{contract.RoleControlPlane}
			if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == controlPlane }) {
				node.Roles = append(node.Roles, contract.RoleWorker)
			}
		}
		for _, a := range n.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				node.Addresses = append(node.Addresses, a.Address)
			}
		}
		c.Nodes = append(c.Nodes, node)
	}
	return nil
}

// data returns the value of a key of a ConfigMap.
func data(answer []byte, key string) (string, error) {
	var cm corev1.ConfigMap
	if err := json.Unmarshal(answer, &cm); err != nil {
		return "", fmt.Errorf("the ConfigMap is unreadable: %w", err)
	}
	if cm.Data[key] == "" {
		return "", fmt.Errorf("ConfigMap %s has no %s", cm.Name, key)
	}
	return cm.Data[key], nil
}

func readKubeadm(c *Cluster, answer []byte) error {
	text, err := data(answer, "ClusterConfiguration")
	if err != nil {
		return err
	}
	var is struct {
		KubernetesVersion, ClusterName, ControlPlaneEndpoint string
		Networking                                           struct{ PodSubnet, ServiceSubnet, DNSDomain string }
	}
	if err := yaml.Unmarshal([]byte(text), &is); err != nil {
		return fmt.Errorf("the configuration of kubeadm is unreadable: %w", err)
	}
	c.Version, c.Name, c.DNSDomain = strings.TrimPrefix(is.KubernetesVersion, "v"), is.ClusterName, is.Networking.DNSDomain
	if !upgrade.Version.MatchString(c.Version) {
		return fmt.Errorf("the configuration of kubeadm has the version %q", c.Version)
	}
	c.Endpoint = is.ControlPlaneEndpoint
	c.PodSubnet, c.ServiceSubnet = is.Networking.PodSubnet, is.Networking.ServiceSubnet
	return nil
}

func readCA(c *Cluster, answer []byte) error {
	text, err := data(answer, "ca.crt")
	if err != nil {
		return err
	}
	if c.CA = machine.Certificates([]byte(text)); len(c.CA) == 0 {
		return errors.New("the CA of the cluster is no certificate")
	}
	return nil
}

// plugins has the network plugins by the beginning of the name of their DaemonSet.
var plugins = []struct{ prefix, name string }{
	{"kube-flannel", "flannel"}, {"calico-node", "calico"}, {"cilium", "cilium"}, {"kube-ovn-cni", "kube-ovn"}, {"kube-router", "kube-router"},
}

// readPlugin reads lines such as "daemonset.apps/kube-flannel".
func readPlugin(c *Cluster, answer []byte) error {
	for line := range strings.Lines(string(answer)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), "/")
		for _, p := range plugins {
			if strings.HasPrefix(name, p.prefix) {
				c.NetworkPlugin = cmp.Or(c.NetworkPlugin, p.name)
			}
		}
	}
	return nil
}
