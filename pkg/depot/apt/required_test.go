//go:build !integration

package apt_test

// aptRequired: see needsApt.
const aptRequired = false
