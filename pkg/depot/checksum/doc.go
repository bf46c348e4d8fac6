// Package checksum reads the SHA-256 that a client announces for what it
// uploads, in any of the headers in use. It is pure.
package checksum
