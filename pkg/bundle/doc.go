// Package bundle packs images and files into one file, or several files of a given size, and
// imports them into the depot of a site without a network connection.
//
// A bundle is an OCI image layout in a tar, so other tools can read it. Images keep their upstream
// names. A file is stored as an OCI artifact with one layer, whose title is the file's path in the
// depot. Two bundles with the same content are equal byte for byte.
//
// Invariants: Import checks content before it sends any, so a damaged bundle changes nothing in the
// depot. Open refuses a tar with an entry that does not belong to a layout. The use of memory does
// not depend on the size of the bundle. The package writes to depots only through their public
// endpoints.
package bundle
