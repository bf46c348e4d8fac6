// Package kubespray is the task that installs the cluster: it looks whether every node answers by SSH, runs a kubespray playbook on them
// with progress and a readable log, and then sees for itself that nodes and system pods are Ready.
//
// Its invariants: nothing is done on a machine that has none of its host's MAC addresses, or whose SSH host key differs from the one seen at first
// contact, and no text that Ansible
// printed leaves it unredacted. It depends on kubespray's entry points and inventory only, not on which playbooks are behind them.
// Its port Store hides the bootstrap machine's API server; the new cluster's is asked through kubectl on a control plane.
package kubespray
