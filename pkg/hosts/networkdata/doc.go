// Package networkdata reads the addresses that the network data of a host will assign to it.
// Network data are OpenStack's network_data in JSON or YAML, which Metal3 hands to the operating
// system of the host.
//
// Invariant: every returned address is written in the data and can be reached from other machines.
// Data that cannot be read are an error that says where the problem is; no address is silently left
// out. The package is pure, and limits the size of its input.
package networkdata
