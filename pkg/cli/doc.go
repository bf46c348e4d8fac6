// Package cli is what a person types: the commands of the kubectl plugin
// "kubectl bpa".
//
// Invariant: what is told of a Provisioning comes from its status alone, so it
// says the same as "kubectl get -o yaml" does, and every failure ends with the
// next command to type. Telling (story.go, advice.go, page.go) is pure. The
// bundle commands need no cluster, only a depot. "depot images-in-use" reads all
// of a site's clusters or fails: half a list would have images deleted.
//
// It must not import reconcilers or tasks, only the API types, the names in
// pkg/contract, the request and the settings that the controller also
// starts from, and bundles.
package cli
