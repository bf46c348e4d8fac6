// Package depottest gives tests of the depot's clients a depot: the real handler on a real socket, in a folder of the test.
package depottest
