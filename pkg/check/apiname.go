package check

import "slices"

// Name is the look-up of the name of the API servers.
type Name struct {
	Status    int      // of getent; 0: it has found addresses, 2: there is no such name
	Addresses []string // as the host has written them
}

func readName(f *Facts, _ string, v []string) {
	if len(v) > 0 && len(v) < 12 {
		f.Name = &Name{Status: int(min(whole(v[0]), 255)), Addresses: v[1:]}
	}
}

// apiNames reports hosts that do not find the load balancer in front of the API servers: their kubelets would not reach any.
func apiNames(w *world) {
	if w.in.APIName == "" {
		return
	}
	const noSuchName = 2 // of getent
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		switch n := f.Name; {
		case n == nil:
			unknown("it has no getent")
		case n.Status == noSuchName:
			fail("it does not resolve " + w.in.APIName + "; its name servers are " + orElse(some(f.Nameservers), "none"))
		case n.Status != 0 || len(n.Addresses) == 0:
			unknown("a lookup of " + w.in.APIName + " had no answer")
		case !slices.ContainsFunc(n.Addresses, func(a string) bool { return !isLoopback(a) }):
			fail(w.in.APIName + " is " + some(n.Addresses) + ", which is itself")
		}
	})
}
