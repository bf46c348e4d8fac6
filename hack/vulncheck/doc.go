// Command vulncheck judges what govulncheck found: every vulnerability of a package that this project imports is an
// error, except those that hack/vulndb/accepted.txt names with a date and a reason.
//
//	govulncheck -scan package -format json ./... | go run ./hack/vulncheck hack/vulndb/accepted.txt
//
// It must not look for vulnerabilities itself.
package main
