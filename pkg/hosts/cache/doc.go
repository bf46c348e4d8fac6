// Package cache keeps what is known of the site's hosts near the reconciler, from metal3's BareMetalHosts and HardwareData.
//
// Its invariant: only what package facts reads is kept, so that ten thousand hosts fit into a small controller, and whoever releases hosts
// reads the API server, not the cache. It is the one place of the controller that uses controller-runtime: metal3 has no generated clients.
package cache
