// Package cache keeps the facts of the site's hosts in the memory of the reconciler. It reads them
// from Metal3's BareMetalHosts and HardwareData.
//
// Invariant: it keeps only the fields that package facts reads, so that ten thousand hosts fit into
// a small controller. Releases read the API server, not the cache.
//
// It is the only package of the controller that uses controller-runtime, because Metal3 has no
// generated clients.
package cache
