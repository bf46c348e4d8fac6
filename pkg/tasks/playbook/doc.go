// Package playbook runs ansible-playbook for a task and reads its events. It writes a readable log and the
// progress, and finds the cause of a failure. The tasks kubespray, install-plugins and
// install-software use it.
//
// Invariants: all output of Ansible passes ansible.Redact before it leaves the task, which hides what looks like
// a secret. Host keys are verified against the pinned ones, whatever the playbook's configuration and variables say.
package playbook
