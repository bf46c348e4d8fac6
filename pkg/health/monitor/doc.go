// Package monitor looks at all clusters that it was told about, each at its interval, and keeps what it
// found. It holds no watch and sends nothing but the looks. It does not know why a cluster is to be
// looked at, and it changes nothing.
package monitor
