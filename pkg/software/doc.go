// Package software computes what the Softwares of a cluster request: it merges them, finds the newest
// versions in the depot, says which nodes a run must change, and describes the result for the status of a
// Software. It is pure: no client, no clock, no disk. Its results do not depend on the order of objects,
// nodes and records.
package software
