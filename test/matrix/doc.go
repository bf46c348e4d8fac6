// Package matrix compares what an installation fetches with what a depot can hold, for each network plugin and operating
// system, by evaluating the real kubespray. It installs nothing: docs/matrix.md says "list checked" for that reason.
package matrix
