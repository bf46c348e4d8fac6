// Package imaging gives hosts an operating system: what to write into a BareMetalHost so that Metal3 does it, how to wait for it, and what to
// take out again so that Metal3 undoes it.
//
// Its invariant: only what it put in is taken out, and what was there before comes back; the host itself remembers both. It decides nothing
// about who holds a host: package claim writes both in one patch.
package imaging
