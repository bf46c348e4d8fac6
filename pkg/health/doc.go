// Package health judges from looks at an installed cluster whether its API server answers and which
// of its nodes are Ready. An Observation is what one look saw. A State collects the looks at one
// cluster, and gives a Report.
//
// The package is pure: time is an argument. It trusts no clock but the caller's, so the time in a
// node's lease is only compared with the one that the look before saw. A judgement changes only if two
// looks in a row agree, so one lost packet changes nothing.
package health
