package seedregistry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Pin is a file of which the playbooks do not know what is in it: nodes must get what the depot has now.
type Pin struct {
	Path         string `json:"path"`         // below /files
	Variable     string `json:"variable"`     // kubespray's, for the checksum
	Architecture string `json:"architecture"` // kubespray's name: amd64, arm64
}

// pin is nil for a file whose content is known, or that the playbooks would not compare.
func (d download) pin(path string) *Pin {
	if d.Variable == "" || d.Architecture == "" || d.known() {
		return nil
	}
	return &Pin{Path: path, Variable: d.Variable, Architecture: d.Architecture}
}

// WritePins leaves them for the second step.
func WritePins(path string, pins []Pin) error {
	text, err := json.Marshal(pins)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("files to pin: %w", err)
	}
	return nil
}

// ReadPins reads what the first step left. Like its list it comes from where a Provisioning's templates ran.
func ReadPins(path string) ([]Pin, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("files to pin: %w", err)
	}
	defer file.Close()
	var pins []Pin
	if err := json.NewDecoder(io.LimitReader(file, artifacts.MaxList)).Decode(&pins); err != nil {
		return nil, fmt.Errorf("files to pin: %w", err)
	}
	for _, p := range pins {
		if err := artifacts.CheckPath(p.Path); err != nil {
			return nil, err
		}
	}
	return pins, nil
}

// maxPins is what Tekton leaves for a result: 4096 bytes for all of a task, in another encoding.
const maxPins = 3 << 10

// pinned asks the depot what it has of each. Its errors have their reasons.
func pinned(ctx context.Context, pins []Pin, depot *client.Depot, log io.Writer) (inventory.Pins, error) {
	all := inventory.Pins{}
	for _, p := range pins {
		state, there, err := depot.FileState(ctx, p.Path, true)
		if err == nil && !there {
			err = fmt.Errorf("file %s was in the depot a moment ago: start again", p.Path)
		}
		if err != nil {
			return nil, task.Because(contract.ReasonDepotUnavailable, err)
		}
		if all[p.Variable] == nil {
			all[p.Variable] = map[string]string{}
		}
		all[p.Variable][p.Architecture] = state.SHA256
		fmt.Fprintf(log, "The depot's own digest counts for %s: sha256 %s\n", p.Path, state.SHA256)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	if len(text) > maxPins {
		err = fmt.Errorf("%d files without a checksum of the playbooks are too many for a result of %d bytes: set some of their variables in spec.kubespray.vars", len(pins), maxPins)
	} else {
		_, err = inventory.ParsePins(string(text))
	}
	if err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, err)
	}
	return all, nil
}
