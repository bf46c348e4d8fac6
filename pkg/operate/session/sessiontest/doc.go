// Package sessiontest has a session.Store in memory for tests. It imports nothing of BPA, so that the tests of package
// session can use it too.
package sessiontest
