// Package supervisor keeps a set of long-running programs alive in the order of their needs.
//
// A component starts when all that it needs is ready, is ready when it says so (sd_notify) and its health answers, is
// restarted with growing pauses when it exits, and is stopped before what it needs. Invariant: no component outlives
// the supervisor, however that ends (children ask the kernel for SIGKILL at their parent's death).
// It knows nothing of Kubernetes and must not import other packages of this module.
package supervisor
