package secretvars

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// Values are variables with their values, and the digests of these.
type Values struct {
	Vars    map[string]json.RawMessage
	Digests map[string]string
}

// Only returns the values of the variables that a request has (contract.Request.SecretVars). The others are also in
// spec.kubespray.vars, which win.
func (v Values) Only(requested map[string]string) map[string]json.RawMessage {
	vars := maps.Clone(v.Vars)
	maps.DeleteFunc(vars, func(name string, _ json.RawMessage) bool { _, has := requested[name]; return !has })
	return vars
}

// Differ returns the names of the requested variables, sorted, that have other values or none.
func (v Values) Differ(requested map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(requested)) {
		if v.Digests[name] != requested[name] {
			names = append(names, name)
		}
	}
	return names
}

// Read returns the variables in the workspace. Without the workspace there are none.
func Read(dir string) (Values, error) {
	if dir == "" {
		return Values{}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Values{}, fmt.Errorf("read the variables of Secrets: %w", err)
	}
	var vars map[string]json.RawMessage
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
			return Values{}, err
		}
		_, variable, _ := strings.Cut(name, ".")
		found, err := Parse(Content{Variable: variable, Text: text})
		if err != nil {
			return Values{}, fmt.Errorf("the content of entry %s of spec.kubespray.varsFrom %w", name, err)
		}
		vars = Merge(vars, found)
	}
	if len(vars) == 0 {
		return Values{}, nil
	}
	key, err := readFile(filepath.Join(dir, KeyFile))
	if err == nil && len(key) == 0 {
		err = errors.New("the key of the digests is empty")
	}
	if err != nil {
		return Values{}, err
	}
	return Values{vars, Digests(key, vars)}, nil
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
