// Package hostfile reads files that list the servers of a site: ICN's nodes.json, YAML of the same shape with more fields,
// and CSV. Parse makes rows of a file, Validate finds what is wrong in them, Render makes Metal3's objects of a row, and
// Compare says what they change in a site that has some of them.
//
// Invariant: no finding, note or error contains a user name, a password, or a text in which one may be, such as a value
// that cannot be parsed. Each finding has the line of the file, the field, what is wrong and what to do. The package is pure:
// it imports Metal3's types and its parser of BMC addresses, but no client and no file system.
package hostfile
