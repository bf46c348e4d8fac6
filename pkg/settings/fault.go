package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// fault is what is wrong with one key of the ConfigMap.
type fault struct {
	what   string
	binary bool
	// fix is the key's good value; nil: the key is removed; empty: it wants an editor.
	fix *string
}

// faults are by key.
type faults map[string]fault

func (f faults) unknown(key string, binary bool) {
	f[key] = fault{binary: binary, what: fmt.Sprintf("there is no setting %s (there are %s)", key, strings.Join(slices.Sorted(maps.Keys(known)), ", "))}
}

func (f faults) malformed(key, what, fix string) {
	f[key] = fault{fix: &fix, what: fmt.Sprintf("setting %s: %s. Allowed is %s", key, what, known[key].allowed)}
}

// err is nil if there are no faults. There is one command for all of them, since the webhook refuses a change that leaves one.
func (f faults) err(cm *corev1.ConfigMap) error {
	if len(f) == 0 {
		return nil
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(f)) {
		lines = append(lines, fmt.Sprintf("ConfigMap %s/%s: %s", cm.Namespace, cm.Name, f[key].what))
	}
	fix := ". Fix it"
	if len(f) > 1 {
		fix = "\nFix all of it at once"
	}
	command := f.command(cm)
	fix += ", for example with `" + command + "`"
	if strings.Contains(command, `"https:`) {
		fix += " (with the port at which the depot answers https)"
	}
	return errors.New(strings.Join(lines, "\n") + fix)
}

func (f faults) command(cm *corev1.ConfigMap) string {
	var patch struct {
		Data   map[string]*string `json:"data,omitempty"`
		Binary map[string]*string `json:"binaryData,omitempty"`
	}
	patch.Data, patch.Binary = map[string]*string{}, map[string]*string{}
	for key, fault := range f {
		switch {
		case fault.fix != nil && *fault.fix == "":
			return fmt.Sprintf("kubectl edit configmap %s -n %s", cm.Name, cm.Namespace)
		case fault.binary:
			patch.Binary[key] = nil
		default:
			patch.Data[key] = fault.fix
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // angle brackets are for people
	_ = encoder.Encode(patch)    // maps of texts can always be written
	return fmt.Sprintf("kubectl patch configmap %s -n %s --type merge -p '%s'", cm.Name, cm.Namespace, bytes.TrimSpace(text.Bytes()))
}

// withTLS is the same address with https in the place of http; empty if that is no good address either.
func withTLS(address string) string {
	rest, plain := strings.CutPrefix(address, "http://")
	depot := v1alpha1.DepotSpec{URL: "https://" + rest}
	if !plain || depot.Validate() != nil {
		return ""
	}
	return depot.URL
}
