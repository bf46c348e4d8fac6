// Package depottest runs a depot for tests of its clients: the real handler on a real socket, in a
// folder of the test.
package depottest
