// Package kubernetes judges the depot's tokens and rights by Kubernetes: TokenReview says whose a token is, SubjectAccessReview what that
// user may do.
//
// Invariant: memory and the number of calls under way are bounded, whatever is sent; an answer is believed for seconds only; an error is
// never a yes.
//
// It speaks to the API server by plain JSON over client-go's transport: a typed client would make the program several times as big.
package kubernetes
