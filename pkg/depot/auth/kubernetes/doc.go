// Package kubernetes checks the depot's tokens and rights at a Kubernetes API server: a TokenReview
// returns the user of a token, and a SubjectAccessReview returns whether that user has a right.
//
// Invariant: memory and the number of parallel calls are bounded, whatever clients send; answers
// are cached for seconds only; an error never gives access.
//
// The package sends plain JSON over client-go's transport, because a typed client would make the
// program several times as big.
package kubernetes
