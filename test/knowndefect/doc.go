// Package knowndefect runs the stories of docs/known-defects.md. Such a story states what should be true,
// and fails until the defect is repaired. It imports only the standard library, so that the tests of
// every package can use it. TestKnownDefects in test/docs compares the stories with the page.
package knowndefect
