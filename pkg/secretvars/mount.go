package secretvars

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// KeyFile has the key of the digests. The workspace contract.WorkspaceVars also has a file for each entry of spec.kubespray.varsFrom. Its
// name is a number and the variable, if there is only one: 000, 001.registry_password.
const KeyFile = "digest-key"

// maxSize is the maximum size of a file in bytes. A Secret is always smaller.
const maxSize = 2 << 20

// FileName returns the name of the file for an entry.
func FileName(entry int, variable string) string {
	name := fmt.Sprintf("%03d", entry)
	if variable != "" {
		name += "." + variable
	}
	return name
}

// Read returns the variables in the workspace, and their digests. Without the workspace there are none.
func Read(dir string) (vars map[string]json.RawMessage, digests map[string]string, err error) {
	if dir == "" {
		return nil, nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("read the variables of Secrets: %w", err)
	}
	var names []string
	for _, e := range entries { // kubelet's own entries begin with ..
		if name := e.Name(); name != KeyFile && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := readFile(filepath.Join(dir, name))
		if err != nil {
			return nil, nil, err
		}
		_, variable, _ := strings.Cut(name, ".")
		found, err := Parse(Content{Variable: variable, Text: text})
		if err != nil {
			return nil, nil, fmt.Errorf("the content of entry %s of spec.kubespray.varsFrom %w", name, err)
		}
		vars = Merge(vars, found)
	}
	if len(vars) == 0 {
		return nil, nil, nil
	}
	key, err := readFile(filepath.Join(dir, KeyFile))
	if err == nil && len(key) == 0 {
		err = errors.New("the key of the digests is empty")
	}
	if err != nil {
		return nil, nil, err
	}
	return vars, Digests(key, vars), nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxSize {
		err = fmt.Errorf("%s has more than %d bytes", path, maxSize)
	}
	if err != nil {
		return nil, fmt.Errorf("read the variables of Secrets: %w", err)
	}
	return os.ReadFile(path)
}
