// Package networkdata reads the addresses that a host's network data will give it: OpenStack's network_data, JSON or YAML, as Metal3 hands it to
// the host's operating system.
//
// Its invariant: what it returns can be reached from elsewhere and is written in the data; what it cannot read is an error that says where,
// never an address less. It is pure, and bounded in what it reads.
package networkdata
