// Package remove removes nodes from a cluster that stays, and resets their machines.
//
// Invariants: before the drain is complete, a removal changes nothing but evicted pods. It resets only machines whose nodes
// are recorded as leaving, after they were drained. A control plane leaves only if etcd keeps a healthy majority and no
// worker depends on its API server. A Ready node whose machine cannot be reset stays. An attempt that was interrupted is
// continued by the next one, whatever its request says.
package remove
