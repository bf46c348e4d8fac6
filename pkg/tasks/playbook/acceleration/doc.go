// Package acceleration makes ansible-playbook faster without a change of what a playbook does. It writes
// a strategy plugin (folder plugins, in Python) into a private folder and returns the environment with
// which Ansible uses it. The task kubespray uses it.
//
// Nothing of kubespray's files is changed. The plugin is off for a version of Ansible that it was not
// tested with. Its files have a license of their own, see plugins/README.md.
package acceleration
