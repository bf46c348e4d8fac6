// Package join makes machines nodes of a cluster: all of them (an installation), new workers, or a control plane, which can
// take the place of a lost one.
//
// An installation first checks that every node answers by SSH and is free of other clusters. It resets machines on which
// an earlier attempt of this Provisioning has left a part of a node. Then it runs kubespray's playbook on the nodes, checks
// that nodes and system pods are Ready and that each new node starts a pod, and records what the cluster consists of.
//
// Invariants: a Ready node is never reset. The playbook is limited to the new nodes, or to all control planes if the
// members of etcd change. A control plane joins only if etcd keeps a healthy majority, and a machine joins under the name of
// a lost one only after that one has no heartbeats any more.
package join
