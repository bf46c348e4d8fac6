// Package settings reads the site's settings from ConfigMap config-bpa. The controller, the webhook
// and the kubectl plugin share it.
//
// Parse is pure and strict: an unknown key or an invalid value is an error that names the key, the
// value, the allowed values and a command that corrects it. A missing or empty depot-url is such an
// error. After an error the caller must not start anything new. In particular, it must not use the
// defaults: with them, the nodes of a site without Internet would try to download from the Internet.
// The package must not import a client.
package settings
