// Package machine knows what a Kubernetes cluster leaves on a machine, how to remove it, and how to
// prove that it is gone. It works through a shell of the machine, and imports no Kubernetes package.
//
// The order of a reset is Mark (before the first change of the machine), Save, kubespray's reset.yml
// with the variables PlaybookVars, and Clean. Each of them can be repeated after an interruption at
// any point.
//
// Invariant: what the machine had before Mark stays, as do the site's own packet filter rules,
// network configuration and packages. Clean succeeds only if Inspect finds nothing.
package machine
