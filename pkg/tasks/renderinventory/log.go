package renderinventory

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
)

// logInventory prints the inventory. For variables that the user provides, also for single nodes, it prints only the
// names: a value can be a password, and many people can read a log.
func logInventory(log io.Writer, request contract.Request, rendered inventory.Inventory) {
	fmt.Fprintf(log, "%s:\n\n%s\nVariables of all hosts:\n\n", contract.KeyHostsINI, rendered.Redacted())
	var vars map[string]json.RawMessage
	if err := json.Unmarshal(rendered.GroupVars, &vars); err != nil {
		fmt.Fprintf(log, "  the variables cannot be read: %v\n", err)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if _, secret := request.SecretVars[name]; secret {
			fmt.Fprintf(log, "  %s: in a Secret of spec.kubespray.varsFrom\n", name)
			continue
		}
		if _, own := request.Vars[name]; own {
			fmt.Fprintf(log, "  %s: as in spec.kubespray.vars\n", name)
			continue
		}
		fmt.Fprintf(log, "  %s: %s\n", name, oneLine(vars[name]))
	}
	for _, note := range rendered.Notes {
		fmt.Fprintf(log, "\nNote: %s.\n", note)
	}
}

func oneLine(value json.RawMessage) string {
	text, err := json.Marshal(value) // compacts the text
	if err != nil {
		return err.Error()
	}
	return string(text)
}
