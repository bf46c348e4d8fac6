// Package config renders the configuration of the machine's components: their arguments, their
// configuration files and the supervisor's plan.
//
// Invariant: the same layout and facts always give the same bytes, so that a second `machine up`
// restarts nothing. The package is pure except for Write. It must not inspect the machine (package
// host does that) or start programs.
package config
