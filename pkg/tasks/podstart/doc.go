// Package podstart proves that nodes of an application cluster start pods: it starts one pod on each of them,
// waits until it is Ready, and deletes it. A node can be Ready and start no pod, for example without
// the programs of the pod network.
//
// Invariant: no pod stays, also after a failure or a cancellation; what a killed task leaves, the next check
// deletes. The image is the one of the sandboxes, which every node has. Of client-go, the package imports
// only the clients of the core group.
package podstart
