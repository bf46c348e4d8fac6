// Command vulncheck checks the output of govulncheck. Every vulnerability of a package that this
// module imports is an error, except those that hack/vulndb/accepted.txt lists for the module with a
// date and a reason.
//
//	govulncheck -C bootstrap -scan package -format json ./... | go run ./hack/vulncheck hack/vulndb/accepted.txt bootstrap
//
// It must not search for vulnerabilities itself.
package main
