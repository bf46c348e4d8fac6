// Package plugins finds the definitions of the plugins of a request: those that are shipped with BPA, and a
// site's own in the depot. The tasks seed-registry and install-plugins use it, so that a plugin that cannot
// be installed is found before any host is claimed.
//
// Invariants: a definition that is not the one of the request is never used. What the depot returns is
// verified by digest and checked as every definition is. Package task, and not this one, decides what
// happens with a plugin that has an error.
package plugins
