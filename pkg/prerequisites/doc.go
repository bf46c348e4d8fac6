// Package prerequisites waits until the kinds exist that the controller works with: Tekton's and Metal3's.
//
// Its invariant: while one is missing the process stays alive and healthy, and every Provisioning says what to install; once all are there it
// goes on by itself. Without it, informers of missing kinds would block for ever in silence.
package prerequisites
