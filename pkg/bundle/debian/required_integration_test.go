//go:build integration

package debian

// required: a machine without apt-get, dpkg-deb and gpg fails the tests that want them, instead of passing them over.
const required = true
