// Package monitor looks at all clusters that the reconciler has registered, each at its interval, and
// keeps the results. It holds no watch and sends nothing but the looks. It does not know why a cluster is to be
// looked at, and it changes nothing.
package monitor
