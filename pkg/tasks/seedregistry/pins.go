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

// Pin is a file for which the playbooks have no checksum. Nodes verify it with the depot's
// checksum, so that they get the content that the depot has now.
type Pin struct {
	Path         string `json:"path"`         // below /files
	Variable     string `json:"variable"`     // name of kubespray's variable for the checksum
	Architecture string `json:"architecture"` // kubespray's name: amd64, arm64
}

// pin returns the Pin of a file. It returns nil if the playbooks have a checksum for the file, or
// if they have no variable for the checksum.
func (d download) pin(path string) *Pin {
	if d.Variable == "" || d.Architecture == "" || d.known() {
		return nil
	}
	return &Pin{Path: path, Variable: d.Variable, Architecture: d.Architecture}
}

// WritePins writes the pins, which the second step reads with ReadPins.
func WritePins(path string, pins []Pin) error {
	text, err := json.Marshal(pins)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the list of files to pin: %w", err)
	}
	return nil
}

// ReadPins reads the pins that the first step wrote. If the file is missing, there are none.
// ReadPins checks the paths, because templates of a Provisioning run in the first step and can
// change the file.
func ReadPins(path string) ([]Pin, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of files to pin: %w", err)
	}
	defer file.Close()
	var pins []Pin
	if err := json.NewDecoder(io.LimitReader(file, artifacts.MaxList)).Decode(&pins); err != nil {
		return nil, fmt.Errorf("read the list of files to pin: %w", err)
	}
	for _, p := range pins {
		if err := artifacts.CheckPath(p.Path); err != nil {
			return nil, err
		}
	}
	return pins, nil
}

// maxPins is the maximum size of the result with the checksums, in bytes. Tekton allows 4096 bytes
// for all results of a task together, in an encoding that needs more space.
const maxPins = 3 << 10

// pinned reads the checksum of each pinned file from the depot. The errors that it returns have a
// failure reason.
func pinned(ctx context.Context, pins []Pin, depot *client.Depot, log io.Writer) (inventory.Pins, error) {
	all := inventory.Pins{}
	for _, p := range pins {
		state, there, err := depot.FileState(ctx, p.Path, true)
		if err == nil && !there {
			err = fmt.Errorf("file %s was removed from the depot while this task ran: upload it again or, on a connected site, retry", p.Path)
		}
		if err != nil {
			return nil, task.Because(contract.ReasonDepotUnavailable, err)
		}
		if all[p.Variable] == nil {
			all[p.Variable] = map[string]string{}
		}
		all[p.Variable][p.Architecture] = state.SHA256
		fmt.Fprintf(log, "Nodes verify %s with the depot's digest, sha256 %s\n", p.Path, state.SHA256)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	if len(text) > maxPins {
		err = fmt.Errorf("the playbooks have no checksum for %d files, and the depot's checksums of these files exceed a result of %d bytes: "+
			"set the checksum variables for some of these files in spec.kubespray.vars", len(pins), maxPins)
	} else {
		_, err = inventory.ParsePins(string(text))
	}
	if err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, err)
	}
	return all, nil
}
