package machine

import (
	_ "embed" // for the scripts
	"strings"
)

// The parts of the scripts. Each part starts with a comment that describes it.
var (
	//go:embed scripts/lists.sh
	lists string
	//go:embed scripts/filter.sh
	filter string
	//go:embed scripts/record.sh
	record string
	//go:embed scripts/network.sh
	network string
	//go:embed scripts/usedby.sh
	usedBy string
	//go:embed scripts/inspect.sh
	inspect string
	//go:embed scripts/mark.sh
	mark string
	//go:embed scripts/save.sh
	save string
	//go:embed scripts/clean.sh
	clean string
	//go:embed scripts/restore.sh
	restore string
	//go:embed scripts/finish.sh
	finish string
	//go:embed scripts/authorize.sh
	authorize string
)

var (
	usedByScript  = join(lists, usedBy, "echo end\n")
	inspectScript = join(lists, filter, usedBy, inspect)
	markScript    = join(lists, filter, record, mark)
	saveScript    = join(lists, filter, network, save)
	cleanScript   = join(lists, filter, record, network, clean, restore, usedBy, inspect)
	finishScript  = join(lists, finish)

	authorizeScript = join(lists, authorize)
)

// join joins parts of a script without their comments and empty lines. The comments are for readers
// of the source, and the kernel limits the length of a command.
func join(parts ...string) string {
	var script strings.Builder
	for line := range strings.Lines(strings.Join(parts, "\n")) {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "#") {
			script.WriteString(line)
		}
	}
	return script.String()
}
