// Package check finds the causes why a cluster cannot be installed on hosts, before a playbook does: clocks, disks, name
// servers, packet sizes, ports, machines with equal identities and others.
//
// A host answers a Script with lines, Parse makes Facts of them, and Judge compares the answers of all hosts with each other
// and with what the cluster needs. Table lists the checks. Package visit runs the scripts.
//
// Invariants: the package is pure, without a client, clock or disk. What could not be checked is Unknown and never looks like a
// success. Text of a host is cut and printable before it becomes part of a finding. The script changes nothing on a host
// but a folder of its own, which it removes.
package check
