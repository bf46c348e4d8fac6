// Package ansible reads what ansible-playbook says through its JSON-lines callback and turns it into three things that people and
// controllers can use: how far it is (Meter), a log to read (Journal), and why it failed (Findings).
//
// Its invariant: no text leaves this package, in an Event or a log line, that did not pass Redact; raw lines hold bootstrap tokens and
// certificate keys. It is pure: no clock, no process, no disk; it imports no Kubernetes package.
package ansible
