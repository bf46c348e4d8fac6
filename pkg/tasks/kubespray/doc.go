// Package kubespray is the task kubespray, which installs a cluster, adds nodes to it, upgrades nodes,
// removes nodes from it, restores it from a backup, or removes it from its machines.
//
// An installation first checks that every node answers by SSH and is free of other clusters. It
// resets machines on which an earlier attempt of this Provisioning has left a part of a node. Then
// it runs a kubespray playbook on the nodes, and writes progress and a readable log. At the end it
// checks that nodes and system pods are Ready, and that each node which it has installed or changed starts a pod. A reset removes the cluster from all machines that
// answer, and proves for each that it is empty. A removal drains nodes, removes them from the
// cluster, and resets their machines in the same way. An upgrade begins and ends with a healthy
// cluster, and drains its nodes. Variables that need no drain are applied by some tasks of the playbook,
// between two checks of the cluster. A restore installs all control planes anew and gives their etcd the
// content of a backup. The task records what the cluster consists of.
//
// Invariants: the task does not change a machine that has none of the known MAC addresses of the
// node's host, nor a machine whose SSH host key differs from the key at the first contact, nor one
// with a Kubernetes of another owner. Before it changes a machine for the first time, it records
// the host as used. A repair never resets a Ready node. A removal resets only machines whose nodes
// are recorded as leaving, after they were drained. An upgrade resets nothing. A restore changes
// nothing before it has read and checked the whole backup, and resets control planes only if etcd has
// no majority or the user accepts its loss. A control plane joins or leaves only if etcd keeps a
// healthy majority. All output of Ansible is redacted before it leaves the task. The task depends on
// kubespray's entry points and inventory, but not on the contents of the playbooks. It
// accesses the bootstrap machine's API server only through the interface Store. It queries the new
// cluster's API server by running kubectl on a control plane.
package kubespray
