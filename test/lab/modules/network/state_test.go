package main

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(name, cidr, address string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: cidr}}
	if address != "" {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: address}}
	}
	return n
}

func TestDesiredRoutesOnlyToOtherNodes(t *testing.T) {
	got := desired("a", []*corev1.Node{
		node("a", "10.1.0.0/24", "10.60.0.10"),
		node("b", "10.1.1.0/24", "10.60.0.11"),
		node("no-range-yet", "", "10.60.0.12"),
		node("no-address-yet", "10.1.3.0/24", ""),
	})
	want := state{podCIDR: "10.1.0.0/24", routes: map[string]string{"10.1.1.0/24": "10.60.0.11"}}
	if !got.equal(want) {
		t.Errorf("desired() = %+v, want %+v", got, want)
	}
}

func TestConflistIsForTheNodesRange(t *testing.T) {
	b, err := conflist("10.1.0.0/24")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Plugins []struct {
			Type string
			IPAM struct{ Ranges [][]struct{ Subnet string } }
		}
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Plugins) != 2 || c.Plugins[0].Type != "bridge" || c.Plugins[0].IPAM.Ranges[0][0].Subnet != "10.1.0.0/24" {
		t.Errorf("conflist = %s", b)
	}
}
