// Package packages makes the list of the binary packages in the depot, which BPA's controller follows.
// The packages are uploads at /v1 and files of the apt sources.
//
// Uploads are hostile input. Invariant: reading one takes a bounded amount of memory and time, and uses
// no path, link or program of it. An upload is read once for each digest, and one upload at a time.
package packages
