// Package kubespraytest plays runs of the task kubespray on simulated machines, for the tests of the task and of the
// packages below pkg/operate. The machines are SSH servers on loopback addresses that answer the commands of the task, the
// playbook prints recorded output, and the stores and the log are in memory.
//
// Fixture has machines and no cluster. Living is a fixture with a cluster that runs, and Planes is one whose control planes
// change: there, the scripts of the task really run, in folders of the test.
package kubespraytest
