package fleet

import (
	"fmt"
	"strings"
)

// Shape contains the invented properties of a machine.
type Shape struct {
	Name   string
	CPU    int
	RAMGiB int
	Broken bool // the BareMetalHost is in error
}

// nodeShapes are shapes that fit a request for 8 CPUs and 16 GiB.
var nodeShapes = []Shape{{CPU: 8, RAMGiB: 16}, {CPU: 8, RAMGiB: 16}, {CPU: 16, RAMGiB: 32}}

// misfitShapes are shapes that do not fit such a request: one is too small, the other is in error.
var misfitShapes = []Shape{{CPU: 2, RAMGiB: 4}, {CPU: 32, RAMGiB: 128, Broken: true}}

// Shapes returns the shapes for a new lab: host-1... fit a request for 8 CPUs and 16 GiB,
// misfit-1... do not.
func Shapes(nodes, misfits int) []Shape {
	return append(numbered("host-", nodes, nodeShapes), numbered("misfit-", misfits, misfitShapes)...)
}

func numbered(prefix string, count int, kinds []Shape) []Shape {
	out := make([]Shape, count)
	for i := range out {
		out[i] = kinds[i%len(kinds)]
		out[i].Name = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return out
}

// shapeOf returns the default shape for a host with this name.
func shapeOf(name string) Shape {
	s := nodeShapes[0]
	if strings.HasPrefix(name, "misfit") {
		s = misfitShapes[0]
	}
	s.Name = name
	return s
}
