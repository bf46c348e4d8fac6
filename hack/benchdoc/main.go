// Command benchdoc prints the figures of a run of the benchmarks and writes them into the tables of a
// document. Figures without a new result keep their rows.
//
//	go run ./hack/benchdoc RESULTS docs/benchmarks.md
package main

import (
	"fmt"
	"os"

	"github.com/akraino-icn/bpa/test/bench/results"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: benchdoc RESULTS DOCUMENT")
		os.Exit(2)
	}
	if err := update(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "benchdoc:", err)
		os.Exit(1)
	}
}

func update(file, document string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w: run make bench first", err)
	}
	figures, err := results.Parse(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, f := range figures {
		fmt.Println(f)
	}
	old, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	updated, err := results.Update(string(old), figures)
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	return os.WriteFile(document, []byte(updated), 0o644)
}
