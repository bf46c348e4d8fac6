// Package bpa holds the name of BPA's API group. The versions of the API are the packages below it.
// It imports nothing.
package bpa

// GroupName is the API group of ICN's Binary Provisioning Agent. It is unchanged so that ICN's
// samples apply without edits.
const GroupName = "bpa.akraino.org"
