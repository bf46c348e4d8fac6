// Package ansible plays integration targets of ansible-core with the accelerations of package
// pkg/tasks/playbook/acceleration, and compares the result of each task with that of Ansible alone. The
// targets are in the source distribution of ansible-core, which make fetches and which is not part of this repository.
//
// A target is played on a lab machine that is thrown away, because many of them change the machine. The
// machine is its own node, over ssh. Nothing outside of it is reached. The package must not need kubespray.
package ansible
