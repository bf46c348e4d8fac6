// Package ansible reads the events of ansible-playbook from its JSON-lines callback. From the
// events it derives the progress (Meter), a readable log (Journal) and the cause of a failure
// (Findings).
//
// Invariant: every string in an Event or a log line has passed Redact, because the raw output holds
// bootstrap tokens and certificate keys. This package is pure: it uses no clock, starts no process,
// and reads and writes no files. It imports no Kubernetes package.
package ansible
