// Package config renders what the machine's components read: their arguments, configuration files and the plan of who
// needs whom.
//
// Invariant: the same layout and facts always give the same bytes, so that a second `machine up` restarts nothing.
// It is pure but for Write; it must not look at the machine (package host does) nor start programs.
package config
