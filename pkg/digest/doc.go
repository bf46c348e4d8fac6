// Package digest knows how a SHA-256 is written: 64 hexadecimal digits in lower case. It is a package of its own because
// the contract of runs and the depot's protocol both need it, and neither imports the other. It imports nothing of this
// repository.
package digest
