// Package bundle is how images and files get to a site that no network leads to: one file, or several of a given size.
//
// A bundle is an OCI image layout in a tar, so other tools read it too: images are images, under their names; a file is an artifact with one
// layer, whose title is the file's path in the depot. The same content gives the same bytes.
//
// Its invariants: a bundle is checked before anything of it is sent, so a damaged one leaves no trace; an entry that a layout has no place
// for makes it no bundle; memory does not depend on its size. It writes to depots through their public doors alone.
package bundle
