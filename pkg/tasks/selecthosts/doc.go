// Package selecthosts is the task select-hosts: it claims a host for every node that a request asks for, waits until Metal3 has put an operating
// system on those that had none, and stores which host is which node.
//
// Its invariant: when it fails, no host is held that was not held before, but for those that the controller has given an image to: they are marked,
// and the controller releases them. It writes claims and nothing else of a host. What fits is decided by package hosts; what is held, by package
// hosts/claim; whether an operating system is there, by package hosts/imaging. It imports nothing of Tekton or knative.
package selecthosts
