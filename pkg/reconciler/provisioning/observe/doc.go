// Package observe makes the facts about a Provisioning, from which package plan decides, out of its objects. The
// controller reads these from its caches, and kubectl bpa asks the API server. What only one of them knows, such as the
// looks at a cluster or the queue of runs, it adds itself.
package observe
