package auth

import "context"

type callerKey struct{}

type caller struct {
	user       User
	authorizer Authorizer
}

func withCaller(ctx context.Context, user User, authorizer Authorizer) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{user, authorizer})
}

// May reports whether the account of an admitted request has one more right. ctx is the context of the
// request. A request that needed no token has no rights.
func May(ctx context.Context, access Access) (bool, error) {
	c, ok := ctx.Value(callerKey{}).(caller)
	if !ok {
		return false, nil
	}
	return c.authorizer.Authorize(ctx, c.user, access)
}
