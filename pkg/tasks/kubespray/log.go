package kubespray

import "fmt"

// some returns a number with its noun: "1 node", "3 nodes".
func some(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
