// Package apierror tells the failures of an API server that may go away from those that a person must see to.
//
// Its invariant: what it does not know is a bug or a missing right, never something to be tried again for ever.
package apierror
