// Package kubespray is the task kubespray, which installs the cluster. The task first checks that
// every node answers by SSH. Then it runs a kubespray playbook on the nodes, and writes progress
// and a readable log. At the end it checks that nodes and system pods are Ready.
//
// Invariants: the task does not change a machine that has none of the known MAC addresses of the
// node's host, nor a machine whose SSH host key differs from the key at the first contact. All
// output of Ansible is redacted before it leaves the task. The task depends on kubespray's entry
// points and inventory, but not on the contents of the playbooks. It accesses the bootstrap
// machine's API server only through the interface Store. It queries the new cluster's API server by
// running kubectl on a control plane.
package kubespray
