// Package template is Go's text/template, but for the methods of data that templates can call: those of the names in
// methods.go. The files zz_*.go are copies that hack/third-party.sh makes.
//
// Go's linker keeps all methods of all types in a program that looks for methods by a name that is not a constant, as
// text/template does. This was 11 MB of kubectl bpa.
package template
