// Package e2e hurts a running bootstrap machine and expects it to heal: killed components, a killed supervisor, the
// death of everything as in a reboot, and down and up again.
//
// Its tests need root and interrupt whatever runs on the machine, so they are only built with -tags e2e. The script run
// gives them a second machine in a sandbox, beside the one that is in use:
//
//	bootstrap/e2e/run
package e2e
