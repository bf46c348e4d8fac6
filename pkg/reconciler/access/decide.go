package access

import (
	"bytes"
	"time"

	"github.com/akraino-icn/bpa/pkg/access"
)

// action is the next thing to do for one cluster.
type action string

const (
	nothing     action = "nothing"
	replaceUser action = "give the kubeconfig a new user"
	renew       action = "renew the kubeconfig"
	makeHealth  action = "make the kubeconfig for health checks"
	moveHealth  action = "give the kubeconfig for health checks the present address of the API server"
	revoke      action = "delete the rights of replaced kubeconfigs"
)

// facts are what is known of one cluster without asking it.
type facts struct {
	// rotate is the requested rotation; empty: none was ever requested.
	rotate string
	// run is the newest run; busy means that it is active.
	run  string
	busy bool
	// kubeconfig and health are the stored kubeconfigs; nil: there is none, or it is unusable.
	kubeconfig, health *stored
	// keyUser is the user for whom the stored key of the kubeconfig is, healthUser the one of the Secret
	// for health checks; empty: not one of BPA's.
	keyUser, healthUser string
	// rotated and revoked are the annotations of the kubeconfig.
	rotated, revoked string
}

// stored is a kubeconfig in a Secret.
type stored struct {
	access.Kubeconfig
	user access.User
	own  bool // the user is one of BPA's; otherwise it is in a group of all administrators
}

// decide returns the next action, and the time until the next check if there is none. It is pure.
//
// A rotation waits for the end of an active run: the task collect-kubeconfig of that run gives rights to
// the user for whom the run was started. Rights are deleted once after each run, because a run can have
// started in the moment of a rotation.
func decide(f facts, now time.Time) (action, time.Duration) {
	k := f.kubeconfig
	if k == nil || !k.Leaf.NotAfter.After(now) {
		return nothing, 0 // a run makes another one, or a user requests it: see package plan
	}
	due := !access.RenewAt(k.Leaf).After(now)
	switch {
	case f.rotate != "" && f.rotate != f.rotated && !f.busy:
		return replaceUser, 0
	case due && !k.own:
		return replaceUser, 0
	case due:
		return renew, 0
	case f.revoked != f.wantRevoked() && !f.busy:
		return revoke, 0
	case f.health == nil || !access.RenewAt(f.health.Leaf).After(now):
		return makeHealth, 0
	case !sameServer(f.health.Kubeconfig, k.Kubeconfig):
		return moveHealth, 0
	}
	return nothing, min(access.RenewAt(k.Leaf).Sub(now), access.RenewAt(f.health.Leaf).Sub(now))
}

// wantRevoked is the value of contract.AnnotationRevoked after the action revoke.
func (f facts) wantRevoked() string {
	return access.Revoked(f.kubeconfig.name(), f.keyUser, f.healthUser, f.run)
}

// keeps returns the users that a Secret names. All others lose their rights.
func (f facts) keeps() (users []access.User) {
	for _, name := range []string{f.kubeconfig.name(), f.keyUser, f.healthUser} {
		if u, ok := access.ParseUser(name); ok {
			users = append(users, u)
		}
	}
	return users
}

func (s *stored) name() string { return s.Leaf.Subject.CommonName }

// sameServer reports whether both kubeconfigs reach the API server in the same way.
func sameServer(a, b access.Kubeconfig) bool {
	return a.Server == b.Server && a.ServerName == b.ServerName && bytes.Equal(a.CA, b.CA)
}
