// Package look looks at one cluster: three requests to its API server, over one connection that is kept.
// It accepts only kubeconfigs with inline data, because everybody who can write Secrets in a namespace
// can write one: a kubeconfig must not make the controller read a file or run a program.
package look
