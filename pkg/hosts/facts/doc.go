// Package facts reads what package hosts needs to know of a host out of Metal3's objects.
//
// Its invariant: what is missing or malformed in them never fails and never looks better than it is: a host without hardware facts has no
// CPUs. It talks to no API server.
package facts
