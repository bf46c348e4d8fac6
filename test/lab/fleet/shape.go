package fleet

import (
	"fmt"
	"strings"
)

// Shape is the fiction about one machine.
type Shape struct {
	Name   string
	CPU    int
	RAMGiB int
	Broken bool // Metal3 reports an error for it
}

// nodeShapes fit a request for 8 CPUs and 16 GiB, each in its own way.
var nodeShapes = []Shape{{CPU: 8, RAMGiB: 16}, {CPU: 8, RAMGiB: 16}, {CPU: 16, RAMGiB: 32}}

// misfitShapes do not fit: too small; large, but in error.
var misfitShapes = []Shape{{CPU: 2, RAMGiB: 4}, {CPU: 32, RAMGiB: 128, Broken: true}}

// Shapes are the machines of a new lab: host-1... fit, misfit-1... do not.
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

// shapeOf is the shape that a name stands for, for hosts that are added one by one.
func shapeOf(name string) Shape {
	s := nodeShapes[0]
	if strings.HasPrefix(name, "misfit") {
		s = misfitShapes[0]
	}
	s.Name = name
	return s
}
