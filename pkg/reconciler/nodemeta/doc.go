// Package nodemeta keeps the labels, annotations and taints of the Nodes of installed clusters in step with their
// Provisionings and with the labels of their hosts. It works through the stored kubeconfig, without a run.
//
// It is a reconciler of its own, so that a silent application cluster never delays the reconciler of Provisionings. It
// reads the Provisioning alone: its status says what the last look at the cluster has seen of the Nodes, and what the
// labels of the hosts give them. It writes Nodes and events.
//
// Invariant: while the Nodes are in step there is no call, also after a restart.
package nodemeta
