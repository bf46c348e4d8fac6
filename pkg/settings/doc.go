// Package settings reads the site's settings, ConfigMap config-bpa, for the controller, the webhook and the kubectl plugin alike.
//
// Parse is pure and strict: an unknown key or a value that is not allowed is an error that names the key, the value, what is allowed and the
// command that fixes it. Whoever gets an error must start nothing new, since the defaults would send the nodes of a closed site to the Internet.
// The package must not import a client.
package settings
