package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: govulncheck -scan package -format json ./... | vulncheck ACCEPTED")
		os.Exit(2)
	}
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(1)
	}
}

// check compares the vulnerabilities on standard input with the accepted ones in the file at path,
// and prints the vulnerabilities. It returns an error if they differ.
func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	accepted, err := parseAccepted(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	found, err := read(os.Stdin)
	if err != nil {
		return err
	}
	lines, err := report(found, accepted)
	for _, line := range lines {
		fmt.Println(line)
	}
	return err
}
