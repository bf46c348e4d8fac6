// Package supervisor keeps a set of long-running programs (components) running. A component can
// need others.
//
// A component starts when all components that it needs are ready. It is ready when it has notified
// the supervisor (sd_notify) and its health URL answers 200. It is restarted with increasing
// backoff when it exits or answers no probe for a minute, and is stopped before the components that it needs. Invariant: no
// component outlives the supervisor, however the supervisor ends, because the kernel sends SIGKILL
// to each child then. The package does not depend on Kubernetes. It imports only disk of this module.
package supervisor
