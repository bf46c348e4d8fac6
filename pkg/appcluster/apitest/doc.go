// Package apitest serves the Kubernetes API of an application cluster for tests: over TLS, to the real client-go, through the
// SSH connection of a test. The objects are those that a function of the test returns for each request, and each
// change is given to a function of the test.
//
// It filters by namespace, name, labels and fields as an API server does. It checks no object, sets no defaults, and has
// no versions: a watch sees no event and ends soon, so a client looks again. What depends on more than this is
// tested with a real API server, in test/integration.
package apitest
