// Package selecthosts is the task select-hosts. It claims a host for every node that a request asks
// for, waits until Metal3 has installed an operating system on hosts without one, and stores the
// assignment of hosts to nodes.
//
// Invariants: after a failure only the hosts that were claimed before the run stay claimed. The
// exception are hosts to which the controller has assigned an image: the task marks them, and the
// controller releases them. The task changes nothing of a host but its claim. Package hosts/assign
// decides which hosts fit, hosts/claim which are claimed, and hosts/imaging whether an operating
// system is installed. This package imports nothing of Tekton or knative.
package selecthosts
