// Command unwrap joins the lines of each paragraph in the descriptions of a CRD. They are broken where the lines of the Go
// source are, and kubectl explain breaks them again where its own lines end.
//
//	unwrap <CRD
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := unwrap(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "unwrap: %v\n", err)
		os.Exit(1)
	}
}

// unwrap copies a CRD. A line of a description joins the line before it, unless one of them is empty, or it is an item of a
// list or deeper than the first line.
func unwrap(from io.Reader, to io.Writer) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriter(to)
	block, first := -1, -1 // the indents of the key description and of its first line; -1: outside
	open := false          // the line before can be continued
	for lines.Scan() {
		line := lines.Text()
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		inside := block >= 0 && (text == "" || indent > block)
		if inside && first < 0 {
			first = indent
		}
		if inside && open && text != "" && indent == first && !strings.HasPrefix(text, "- ") {
			fmt.Fprintf(out, " %s", text)
			continue
		}
		if open {
			fmt.Fprintln(out)
		}
		fmt.Fprint(out, line)
		if open = inside && text != ""; !open {
			fmt.Fprintln(out)
		}
		if !inside {
			block, first = -1, -1
			if key := strings.TrimPrefix(text, "- "); key == "description: |-" {
				block = len(line) - len(key)
			}
		}
	}
	if open {
		fmt.Fprintln(out)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return out.Flush()
}
