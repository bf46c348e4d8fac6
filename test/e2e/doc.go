// Package e2e tells the stories of the README and of bad days on real parts: a bootstrap cluster, Tekton, lab machines, SSH, Ansible and
// the clusters that come out of it. One file per story; each has hosts of its own.
//
//	make e2e                                      every story
//	go test -tags e2e ./test/e2e -run TestInstall one story, on a bootstrap machine that is up
package e2e
