package facts

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed sriov.txt
var sriovTable string

// card is a line of the table of network cards.
type card struct {
	model  string // in the format of Model, such as "0x8086 0x1572"
	driver string
	name   string
}

// cards reads the table of network cards. A test checks the table's format.
func cards() []card {
	var all []card
	for line := range strings.Lines(sriovTable) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[0] != "#" {
			all = append(all, card{model: "0x" + fields[0] + " 0x" + fields[1], driver: fields[2], name: strings.Join(fields[3:], " ")})
		}
	}
	return all
}

var sriovModels = sync.OnceValue(func() map[string]bool {
	models := map[string]bool{}
	for _, c := range cards() {
		models[c.model] = true
	}
	return models
})

// knownSRIOV reports whether network cards of a model support SR-IOV. The model must be in the
// format of Model. The firmware of a card may still disable SR-IOV.
func knownSRIOV(model string) bool { return sriovModels()[model] }
