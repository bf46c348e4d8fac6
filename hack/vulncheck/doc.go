// Command vulncheck checks the output of govulncheck. Every vulnerability of a package that this
// project imports is an error, except those that hack/vulndb/accepted.txt lists with a date and a
// reason.
//
//	govulncheck -scan package -format json ./... | go run ./hack/vulncheck hack/vulndb/accepted.txt
//
// It must not search for vulnerabilities itself.
package main
