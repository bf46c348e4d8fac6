// Package survey asks servers who they are, and compares the answers with what the objects of the site say.
//
// After a restore, the objects can be older than the servers. A host that is free in the objects can have a cluster by
// now, and Metal3 or a run would destroy it.
//
// Invariants: Judge is pure, and an answer agrees only by positive evidence. Ask changes nothing on a server.
package survey
