// Command vulncheck judges what govulncheck found: every vulnerability that this project calls is an error, except those that
// hack/vulndb/accepted.txt names with a date and a reason.
//
//	govulncheck -format json ./... | go run ./hack/vulncheck hack/vulndb/accepted.txt
//
// It must not look for vulnerabilities itself.
package main
