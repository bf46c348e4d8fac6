// Package convert converts between BPA's types of Tekton's kinds and Tekton's own types, which the controller's clients and caches
// have.
//
// Invariant: a converted object shares its data with the original, so nobody may change either of them, unless it was made for a
// creation. kubectl bpa must not import this package, because of what Tekton's types import.
package convert
