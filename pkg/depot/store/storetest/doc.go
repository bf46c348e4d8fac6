// Package storetest tests every kind of store in the same way.
package storetest
