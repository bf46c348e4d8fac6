// Package e2e tests how a running bootstrap machine recovers from failures: from killed components,
// from a killed supervisor, from the death of all processes as in a reboot, from down followed
// by start, and from destroy followed by up.
//
// The tests need root and interrupt everything that runs on the machine, so they are only built
// with -tags e2e. The script bootstrap/e2e/run executes the tests in a sandbox, on a second
// bootstrap machine, so that they do not interrupt the machine in use.
package e2e
