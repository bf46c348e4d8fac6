// Package imaging gives hosts an operating system: which hosts are due for one, what to write into a BareMetalHost so that Metal3 installs it,
// how to wait for it, and what to take out again so that Metal3 undoes it.
//
// Its invariant: only what it put in is taken out, and what was there before comes back; the host itself remembers both. Only the controller
// writes what Put and TakeAway change: the account of select-hosts, which people of the namespace can act as, may not (config/500-claims.yaml).
// It decides nothing about who holds a host: package claim does.
package imaging
