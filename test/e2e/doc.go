// Package e2e tests the scenarios of the README, and how BPA handles failures. The tests use the
// real parts: a bootstrap cluster, Tekton, lab machines, SSH, Ansible and the installed clusters.
// Each file tests one scenario. Each test has separate hosts.
//
//	make e2e                                      all scenarios
//	go test -tags e2e ./test/e2e -run TestInstall one scenario, on a running bootstrap machine
package e2e
