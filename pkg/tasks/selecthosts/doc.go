// Package selecthosts is the task select-hosts. It claims a host for every node that a request asks
// for. It waits until Metal3 has installed an operating system on hosts without one. Then it stores
// which host each node has.
//
// Invariants: if the claim fails, the task releases the hosts that it has claimed, but no host that
// was claimed before the run. As soon as hosts can receive an image, the task releases none of
// them, whatever happens: otherwise one failure would erase all hosts. It gives up only a host on
// which Metal3 has failed too often, and claims another one, and the hosts that cannot receive a
// wrong image. It marks such a host, and the controller records the failure, removes the image and
// releases the host. The task changes nothing
// of a host except its claim.
//
// Package hosts/assign decides which hosts fit, hosts/claim decides which are claimed, and
// hosts/imaging decides whether an operating system is installed. This package imports nothing of
// Tekton or knative.
package selecthosts
