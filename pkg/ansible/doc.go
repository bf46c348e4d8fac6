// Package ansible reads the events of ansible-playbook from its JSON-lines callback. From the
// events it derives the progress (Meter), a readable log (Journal) and the cause of a failure
// (Findings).
//
// Invariant: every text in an Event or a log line has passed Redact, since raw lines hold bootstrap
// tokens and certificate keys. This package is pure: it uses no clock, no process and no disk. It
// imports no Kubernetes package.
package ansible
