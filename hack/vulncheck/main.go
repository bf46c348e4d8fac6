package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: govulncheck -C FOLDER -scan package -format json ./... | vulncheck ACCEPTED FOLDER")
		os.Exit(2)
	}
	if err := check(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "vulncheck: %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
}

// check compares the vulnerabilities on standard input with those that the file at path accepts in the module in
// folder, and prints the vulnerabilities. It returns an error if they differ.
func check(path, folder string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	accepted, err := parseAccepted(string(text), folder)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	found, err := read(os.Stdin)
	if err != nil {
		return err
	}
	lines, err := report(found, accepted)
	for _, line := range lines {
		fmt.Printf("%s: %s\n", folder, line)
	}
	return err
}
