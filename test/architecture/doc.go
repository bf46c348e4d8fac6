// Package architecture keeps the stairs of the house: which room may import which. Its tests read imports only; they run nothing.
package architecture
