// Package cli is what a person types: the commands of the kubectl plugin
// "kubectl bpa".
//
// Invariant: what is told comes from the Provisioning's status alone, so it
// says the same as "kubectl get -o yaml" does, and every failure ends with the
// next command to type. Telling (story.go, advice.go, page.go) is pure.
//
// It must not import reconcilers or tasks, only the API types and the names in
// pkg/tasks/contract.
package cli
