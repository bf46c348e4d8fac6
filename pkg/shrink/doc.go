// Package shrink chooses the nodes that leave a cluster.
//
// A user names some of them. Of a node set that becomes smaller, only the number of nodes that
// leave is known. Package shrink chooses which ones: nodes with trouble first, then nodes of the
// fullest domain, then those with the fewest pods, then the highest number in the name. Without
// pods, this is the order in which package assign takes hosts away from a set that is not
// installed.
//
// Invariant: the same input gives the same output, whatever the order of the candidates. A choice
// that was carried out in part is completed, and never extended. The package is pure: it imports
// only package contract.
package shrink
