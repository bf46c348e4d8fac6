// Package cli implements the commands of the kubectl plugin "kubectl bpa".
//
// Invariant: output about a Provisioning comes from its status alone, so it
// agrees with "kubectl get -o yaml". Every failure ends with the next command
// to type. The code that writes the text (reporter.go, advice.go, page.go) is
// pure. The bundle commands need no cluster, only a depot. "depot images-in-use"
// reads all clusters of a site or fails: with an incomplete list, gc would
// delete images that are in use.
//
// The package must not import reconcilers or tasks. It may import the API types and the packages
// that reconcilers and tasks also use, such as pkg/contract, pkg/settings, pkg/hosts and
// pkg/bundle.
package cli
