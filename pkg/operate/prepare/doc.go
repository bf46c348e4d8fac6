// Package prepare prepares machines for kubespray's playbooks: their owner, the depot's certificate, the depot as the
// source of OS packages, the state of the kubelet, and the name of the node.
//
// Invariants: each step changes nothing that is right already. It accepts only the SSH host key of the visit that has
// checked the machine. The files that it writes belong to BPA alone, except the lines of /etc/hosts between kubespray's
// own markers.
package prepare
