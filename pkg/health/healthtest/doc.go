// Package healthtest has small API servers of application clusters, for tests and benchmarks. They
// answer what package look asks, with TLS and client certificates.
package healthtest
