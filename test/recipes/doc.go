// Package recipes tests the recipes of docs/day-one.md with kubespray's own templates.
package recipes
