package nearest

import "strings"

// longest is the maximum length of a name. A longer one is no typing error, and the distance would cost time.
const longest = 80

// Name returns the candidate with the smallest edit distance from name, if that is at most a third of the
// length of name; empty: there is none. Upper and lower case are equal.
func Name(name string, candidates []string) (best string) {
	if len(name) > longest {
		return ""
	}
	smallest := max(1, len(name)/3) + 1
	for _, candidate := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate)); d < smallest {
			best, smallest = candidate, d
		}
	}
	return best
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
