// Package artifacts says what an installation needs from the depot, whether it is there, and, if not, what would bring it.
//
// Its invariant: a List that was read by Parse names only images and files that have one place in the depot each, inside its doors. It is
// pure: no client, no clock, no disk. Package doors asks a depot what it has, package carry brings what it lacks.
package artifacts
