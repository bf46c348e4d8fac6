// Package bpa holds the name of BPA's API group. Each version of the API is a package in a
// directory below this one. This package imports nothing.
package bpa

// GroupName is the API group of ICN's Binary Provisioning Agent. BPA uses the same group, so that
// ICN's samples can be applied without edits.
const GroupName = "bpa.akraino.org"
