// Package software installs, updates and removes packages on nodes: it looks what they have, decides what
// to do, does it, and records the result. The tasks install-software and kubespray use it.
//
// Deciding is pure (Decide). Looking and changing are two playbooks with one module of BPA, which run
// through package playbook.
//
// Invariants: nothing is changed on a node before all of its packages have been looked up. A package that
// fails does not keep others from being installed. BPA removes only what its record says that it has
// installed. Names and versions that are not those of packages never reach a node, and no text of a request
// becomes a template of Ansible, an option or a part of a shell command.
package software
