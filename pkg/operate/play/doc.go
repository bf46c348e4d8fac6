// Package play runs kubespray's playbooks with ansible-playbook, for the operations of the task kubespray. It writes the
// files that a playbook reads, limits the playbook to some nodes, and lets nodes prefetch files and images meanwhile.
//
// Invariants: a playbook knows only the pinned host keys of the nodes to which it may connect (Input.ContactedNodes). All
// output of Ansible is redacted before it leaves the package. The package depends on kubespray's entry points and
// inventory, but not on the contents of the playbooks; prefetch.yml, which uses variables of kubespray's roles, may fail
// without consequences.
package play
