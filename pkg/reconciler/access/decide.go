package access

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/access"
)

// action is the next thing to do for one cluster.
type action string

const (
	replaceUser action = "give the kubeconfig a new user"
	renew       action = "renew the kubeconfig"
	makeHealth  action = "make the kubeconfig for health checks"
	moveHealth  action = "give the kubeconfig for health checks the present address of the API server"
	revoke      action = "delete the rights of replaced kubeconfigs"
	check       action = "use the kubeconfig"
	// compare is no action on the cluster: the cache and the API server show different Secrets.
	compare action = "compare the cache with the API server"
)

// facts are what is known of one cluster without asking it.
type facts struct {
	// rotate is the requested rotation; empty: none was ever requested.
	rotate string
	// run is the last run after which rights are to be deleted. active means that a run is active, and busy
	// that this run may give rights to the user of the kubeconfig.
	run          string
	active, busy bool
	// restoring means that the cluster is being restored from a backup, or that a restore is not complete:
	// what is written to the cluster can be lost, and the next run of the restore collects a kubeconfig.
	restoring bool
	// kubeconfig and health are the stored kubeconfigs; nil: there is none, or it is unusable.
	kubeconfig, health *stored
	// keyUser is the user for whom the stored key of the kubeconfig is, healthUser the one of the Secret
	// for health checks; empty: not one of BPA's.
	keyUser, healthUser string
	// rotated and revoked are the annotations of the kubeconfig.
	rotated, revoked string
	// denied is since when the cluster denies the kubeconfig, as an annotation says; empty: it does not.
	denied string
	// direct is the URL of an API server for the health checks; empty: that of the kubeconfig.
	direct string
	// lookDenied means that the cluster denies the health checks.
	lookDenied bool
}

// stored is a kubeconfig in a Secret.
type stored struct {
	access.Kubeconfig
	user access.User
	own  bool // the user is one of BPA's; otherwise it is in a group of all administrators
}

// decide returns the actions that are due, in their order, and the time until the next check if there
// are none. It is pure. The actions do not depend on each other, so one that fails delays no other one.
//
// A rotation waits for the end of an active run that has the task collect-kubeconfig: this task gives rights to
// the user for whom the run was started. It also waits until the users before it have lost their rights,
// because only one replaced user is remembered. Rights are deleted once after each run, because a run can
// have started in the moment of a rotation.
func decide(f facts, now time.Time) (due []action, after time.Duration) {
	k := f.kubeconfig
	if f.restoring {
		return nil, 0
	}
	if k == nil || !k.Leaf.NotAfter.After(now) {
		return nil, 0 // a run makes another one, or a user requests it: see package plan
	}
	if f.denied != "" { // nothing else can succeed
		if f.busy {
			return nil, 0
		}
		return []action{check}, 0
	}
	old := !access.RenewAt(k.Leaf).After(now)
	rotate := f.rotate != "" && f.rotate != f.rotated
	switch unfinished := f.revoked != "" && !access.RevokedFor(f.revoked, k.name()); {
	case f.busy:
	case rotate && !unfinished:
		due = append(due, replaceUser)
		if !access.SameButKey(f.revoked, f.wantRevoked()) { // the rotation may wait for a signer
			due = append(due, revoke)
		}
	case f.revoked != f.wantRevoked():
		due = append(due, revoke)
	}
	if f.health != nil && !sameServer(f.health.Kubeconfig, f.forHealth()) {
		due = append(due, moveHealth)
	}
	switch {
	case old && k.own:
		due = append(due, renew)
	case old && !slices.Contains(due, replaceUser):
		due = append(due, replaceUser)
	}
	switch {
	case f.health == nil || !access.RenewAt(f.health.Leaf).After(now):
		due = append(due, makeHealth)
	case f.lookDenied && !f.busy:
		due = append(due, check)
	}
	if len(due) > 0 {
		return due, 0
	}
	return nil, min(access.RenewAt(k.Leaf).Sub(now), access.RenewAt(f.health.Leaf).Sub(now))
}

// forHealth returns the kubeconfig with the API server that the health checks ask.
func (f facts) forHealth() access.Kubeconfig {
	k := f.kubeconfig.Kubeconfig
	k.Server = cmp.Or(f.direct, k.Server)
	return k
}

// wantRevoked is the value of contract.AnnotationRevoked after the action revoke.
func (f facts) wantRevoked() string {
	return access.Revoked(f.kubeconfig.name(), f.keyUser, f.healthUser, f.run)
}

// keeps reports whether a user keeps its rights: a Secret names it, or it may be that of a task of the active
// run.
func (f facts) keeps(u access.User) bool {
	return f.active && u.Kind.OfTask() || slices.Contains([]string{f.kubeconfig.name(), f.keyUser, f.healthUser}, u.String())
}

func (s *stored) name() string { return s.Leaf.Subject.CommonName }

// sameServer reports whether both kubeconfigs reach the API server in the same way.
func sameServer(a, b access.Kubeconfig) bool {
	return a.Server == b.Server && a.ServerName == b.ServerName && bytes.Equal(a.CA, b.CA)
}
