package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"

	"github.com/akraino-icn/bpa/pkg/depot/auth"
)

const (
	// callLimit limits the time for one review, including the wait for its turn.
	callLimit = 5 * time.Second
	// acceptTTL and refuseTTL are how long positive and negative answers are cached. A revoked
	// token or right stays valid for at most acceptTTL, and a new right is refused for at most
	// refuseTTL.
	acceptTTL = 10 * time.Second
	refuseTTL = 2 * time.Second
	// cacheSize limits the cached answers of each kind. Refused tokens have a separate cache, so
	// that guessed tokens cannot displace valid ones.
	cacheSize = 1024
	// parallel limits the parallel calls, so that guessed tokens cannot overload the API server.
	parallel = 16
	// largestAnswer limits the size of an answer in bytes. A user in many groups needs some
	// kilobytes.
	largestAnswer = 1 << 20
)

// Audience is the default audience of tokens. A token for this audience is useless at other
// servers, even if it is stolen from the depot.
const Audience = auth.Group

// Authorizer is an auth.Authorizer that asks a Kubernetes API server. Create it with New.
type Authorizer struct {
	audience string
	client   *http.Client
	base     *url.URL
	turns    chan struct{}
	users    *cache.LRUExpireCache // sha256 of the token -> auth.User
	refused  *cache.LRUExpireCache // sha256 of the token -> *auth.Rejected
	rights   *cache.LRUExpireCache // sha256 of the review's spec -> bool
}

// New returns an Authorizer for the API server of config. It accepts only tokens for the given
// audience. If audience is empty, tokens must be for the API server's own audience. New sends no
// request, because the depot may start before the API server.
func New(config *rest.Config, audience string) (*Authorizer, error) {
	return newAuthorizer(config, audience, realClock{})
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func newAuthorizer(config *rest.Config, audience string, clock cache.Clock) (*Authorizer, error) {
	config = rest.CopyConfig(config)
	config.Timeout = callLimit
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connection to the Kubernetes API server: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("address of the Kubernetes API server: %w", err)
	}
	fresh := func() *cache.LRUExpireCache { return cache.NewLRUExpireCacheWithClock(cacheSize, clock) }
	return &Authorizer{
		audience: audience, client: client, base: base, turns: make(chan struct{}, parallel),
		users: fresh(), refused: fresh(), rights: fresh(),
	}, nil
}

// Authenticate returns the token's user. It implements auth.Authorizer.
func (r *Authorizer) Authenticate(ctx context.Context, token string) (auth.User, error) {
	key := sha256.Sum256([]byte(token))
	if user, ok := r.users.Get(key); ok {
		return user.(auth.User), nil
	}
	if why, ok := r.refused.Get(key); ok {
		return auth.User{}, why.(*auth.Rejected)
	}
	review := authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token, Audiences: r.audiences()},
	}
	if err := r.ask(ctx, "authentication.k8s.io/v1/tokenreviews", &review); err != nil {
		return auth.User{}, fmt.Errorf("review a token: %w", err)
	}
	if rejected := r.checkReview(review.Status); rejected != nil {
		r.refused.Add(key, rejected, refuseTTL)
		return auth.User{}, rejected
	}
	user := userOf(review.Status.User)
	r.users.Add(key, user, acceptTTL)
	return user, nil
}

func (r *Authorizer) audiences() []string {
	if r.audience == "" {
		return nil
	}
	return []string{r.audience}
}

// checkReview returns why a token is refused; nil if it is valid.
func (r *Authorizer) checkReview(status authenticationv1.TokenReviewStatus) *auth.Rejected {
	switch {
	case !status.Authenticated && status.Error != "":
		return &auth.Rejected{Why: status.Error}
	case !status.Authenticated || status.User.Username == "":
		return &auth.Rejected{Why: "the API server does not accept it; it may have expired"}
	case r.audience == "":
		return nil
	}
	// An API server without support for audiences accepts tokens for any audience, and does not
	// return the requested one.
	for _, audience := range status.Audiences {
		if audience == r.audience {
			return nil
		}
	}
	return &auth.Rejected{Why: "it is not for audience " + r.audience}
}

func userOf(info authenticationv1.UserInfo) auth.User {
	user := auth.User{Name: info.Username, UID: info.UID, Groups: info.Groups}
	for name, values := range info.Extra {
		if user.Extra == nil {
			user.Extra = map[string][]string{}
		}
		user.Extra[name] = values
	}
	return user
}

// Authorize reports whether the user has the right. It implements auth.Authorizer.
func (r *Authorizer) Authorize(ctx context.Context, user auth.User, access auth.Access) (bool, error) {
	review := authorizationv1.SubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SubjectAccessReview"},
		Spec:     question(user, access),
	}
	text, err := json.Marshal(review.Spec)
	if err != nil {
		return false, err
	}
	key := sha256.Sum256(text)
	if allowed, ok := r.rights.Get(key); ok {
		return allowed.(bool), nil
	}
	if err := r.ask(ctx, "authorization.k8s.io/v1/subjectaccessreviews", &review); err != nil {
		return false, fmt.Errorf("review a right: %w", err)
	}
	allowed := review.Status.Allowed && !review.Status.Denied
	if allowed {
		r.rights.Add(key, true, acceptTTL)
	} else {
		r.rights.Add(key, false, refuseTTL)
	}
	return allowed, nil
}

func question(user auth.User, access auth.Access) authorizationv1.SubjectAccessReviewSpec {
	resource, sub, _ := strings.Cut(access.Resource, "/")
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: user.Name, UID: user.UID, Groups: user.Groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: auth.Group, Version: "v1", Resource: resource, Subresource: sub, Verb: access.Verb, Namespace: access.Namespace, Name: access.Name,
		},
	}
	for name, values := range user.Extra {
		if spec.Extra == nil {
			spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		spec.Extra[name] = values
	}
	return spec
}
