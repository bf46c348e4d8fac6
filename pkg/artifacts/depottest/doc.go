// Package depottest gives tests of the depot's clients a depot: the real handler on a real socket, in a folder of the test.
//
// One door is a fake: PUT /files/, as long as the depot itself has none. It does what its clients rely on: the checksum in
// X-Checksum-Sha256 is checked, and a file appears whole (201) or not at all.
package depottest
