// Package settings reads the site's settings, ConfigMap config-bpa. The controller, the webhook and
// the kubectl plugin share it.
//
// Parse is pure and strict: an unknown key or an invalid value is an error that names the key, the
// value, the allowed values and the command that fixes it. After an error the caller must not start
// anything new, because the defaults would send the nodes of a closed site to the Internet. The
// package must not import a client.
package settings
