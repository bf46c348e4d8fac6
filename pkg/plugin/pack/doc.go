// Package pack makes an OCI artifact of a plugin, so that a depot can keep a site's own plugins, and
// reads such an artifact.
//
// The artifact plugins/NAME:VERSION has one layer: a tar of the plugin's directory. The tar is not
// compressed and has no times and owners, so that the same plugin has the same digest everywhere.
//
// Invariant: Unpack accepts only what Load accepts, with the same limits, whatever the tar says about
// sizes, links and paths. The package is pure: it uses no network and no disk.
package pack
