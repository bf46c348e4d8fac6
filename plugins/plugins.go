// Package plugins has the files of the plugins that are shipped with BPA: one directory for each. See
// docs/plugins.md for the form of a plugin. The package is data only; pkg/plugin reads it.
package plugins

import "embed"

// FS has the directories of the plugins.
//
//go:embed all:*
var FS embed.FS
