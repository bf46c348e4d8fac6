// Package storetest is what every store has to do, whatever it keeps things in.
package storetest
