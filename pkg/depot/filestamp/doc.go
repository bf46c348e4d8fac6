// Package filestamp tells whether a file is still what it was when it was last read.
package filestamp
