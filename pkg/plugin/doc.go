// Package plugin reads and checks the definitions of plugins: software that BPA installs in an
// application cluster, such as multus. A plugin is a directory; see Plugin for its files.
//
// Invariant: a Plugin that Load returns is complete and consistent, so that only its parameters and
// the application cluster decide whether it can be installed. Load accepts input from strangers: its
// use of memory is bounded, and it opens no file outside of the directory. The package is pure: it
// uses no client, no clock and no files but those of the given fs.FS. It must not import a Helm
// library, because the webhook imports it; package plugin/render does. Package plugin/pack makes one
// file of a plugin, for a depot.
package plugin
