// Package packages follows the list of the packages in the site's depot, for all controllers of the process:
// one request at a time waits for the next change. A new list counts when no other has followed for some time,
// so that ten uploads start one run.
package packages
