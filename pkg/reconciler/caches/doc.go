// Package caches has what all reconcilers know of the site: its settings, as the ConfigMap has them now, which fields of
// objects their caches keep, and the index by which Softwares and Provisionings find each other.
//
// Invariants: settings that were never read, or that are wrong, start no run and delete none. A field that Strip removes
// is never read and never written back.
package caches
