package cli

import "sort"

// sortValues sorts large values, such as objects of the API. slices.SortFunc would do the same, with 18 KB of code for each
// type of them.
func sortValues[T any](all []T, compare func(a, b *T) int) {
	sort.Slice(all, func(i, j int) bool { return compare(&all[i], &all[j]) < 0 })
}
