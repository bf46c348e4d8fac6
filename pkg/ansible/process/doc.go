// Package process runs ansible-playbook, or any other command, as a process group and returns its
// exit status.
//
// Invariant: when the context ends, the whole group is terminated, and killed if it does not end in
// time. This package is separate from package ansible, which only reads events and is pure.
package process
