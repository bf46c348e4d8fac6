// Package artifacts lists the artifacts that an installation needs from the depot. It compares the
// list with the depot's content, and describes the missing artifacts and the commands with which a
// user imports them.
//
// Invariant: each image and file of a List that Parse returns has exactly one name in the depot,
// and the URL of that name is always below the depot's endpoints. The package is pure: it uses no
// client, no clock and no files. Package depot/client asks a depot for its content. Package
// transfer copies missing artifacts.
package artifacts
