// Package kubespray is the task kubespray, which installs the cluster. The task checks that every
// node answers by SSH, runs a kubespray playbook on the nodes with progress and a readable log, and
// then checks that nodes and system pods are Ready.
//
// Invariants: the task changes no machine that has none of its host's MAC addresses, or whose SSH
// host key differs from the key at first contact. All output of Ansible is redacted before it
// leaves the task. The task depends only on kubespray's entry points and inventory, not on the
// playbooks behind them. The port Store hides the bootstrap machine's API server. The task queries
// the new cluster's API server with kubectl on a control plane.
package kubespray
