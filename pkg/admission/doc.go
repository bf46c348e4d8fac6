// Package admission says whether an object may be stored: it checks Provisionings, Backups and Software, and refuses
// edits that an installed cluster cannot follow. Each problem names the field, what is wrong with it, and what to write
// instead. The webhook asks it, and so do commands that show what the webhook would say.
//
// It knows more than one object, unlike package v1alpha1, which has the types: the plugins that BPA ships, and the
// versions and variables between which a cluster can change.
//
// Invariants: an update is not refused for a problem that the stored object has already in the same field. An object
// that is being deleted, and an update of the status, are never refused.
package admission
