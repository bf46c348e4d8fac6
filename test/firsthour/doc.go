// Firsthour runs the commands of a page in the order of the page, in one shell, and compares what they print with the page:
//
//	BPA_STATE=DIR go run ./test/firsthour [-from SECTION] docs/first-hour.md
//
// It runs the blocks of the kind console. A line that begins with "$ " is a command; the lines after it are what the
// command prints, on both of its outputs. A line "..." stands for any lines, and "..." in a line for any text. The first
// command that fails, or prints something else, ends the run with exit code 1, and everything stays as it is then.
//
// Without -from it begins with the clone, and refuses a BPA_STATE in which a machine is. -from begins at a section, on a
// machine that runs. It never runs a command that deletes a machine or its data.
package main
