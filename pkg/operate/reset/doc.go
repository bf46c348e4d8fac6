// Package reset removes a cluster from machines: from all machines of a Provisioning (Run), or from some of them as a part
// of another operation (Work).
//
// Invariants: a machine counts as empty only after this was checked on it. Kubespray's playbook only helps: if it fails, the
// machines are cleaned without it. A machine whose network settings cannot be saved is not reset. Hosts that do not answer,
// or that are not proved to be the right machines, are left out and named.
package reset
