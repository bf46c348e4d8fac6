// Package e2e hurts a running bootstrap machine and expects it to heal: killed components, a killed supervisor, the
// death of everything as in a reboot, and down and up again.
//
// Its tests need root and a machine that is up, interrupt whatever runs on it, and so are only built with -tags e2e:
//
//	go -C bootstrap test -tags e2e -count 1 -v ./e2e
package e2e
