// Package networkdata reads the addresses that the network data of a host will assign to it.
// Network data are OpenStack's network_data in JSON or YAML, which Metal3 passes to the operating
// system of the host.
//
// Invariant: every returned address is contained in the data and can be reached from other
// machines. Data that cannot be read cause an error that tells where the problem is; they never
// lead to a result with fewer addresses. The package is pure, and limits the size of its input.
package networkdata
