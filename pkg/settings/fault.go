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

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// fault describes an error in one key of the ConfigMap.
type fault struct {
	what   string
	binary bool
	// fix is a valid value for the key, for the command that corrects the error. nil: the command
	// removes the key. An empty string: no command can set the value, and the user needs an editor.
	fix *string
}

// faults maps keys of the ConfigMap to their errors.
type faults map[string]fault

func (f faults) unknown(key string, binary bool) {
	f[key] = fault{binary: binary, what: fmt.Sprintf("unknown setting %s; the settings are %s", key, strings.Join(slices.Sorted(maps.Keys(known)), ", "))}
}

func (f faults) malformed(key, what, fix string) {
	f[key] = fault{fix: &fix, what: fmt.Sprintf("setting %s: %s. Allowed: %s", key, what, known[key].allowed)}
}

// err returns an error that lists all faults, or nil if there are none. It names one command that
// corrects all of them, because the webhook rejects a change that leaves one.
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
		fix = "\nFix them together"
	}
	command := f.command(cm)
	fix += ", for example with `" + command + "`"
	if strings.Contains(command, `"https:`) {
		fix += " (with the port of the depot's https listener)"
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
	encoder.SetEscapeHTML(false) // keep angle brackets readable
	_ = encoder.Encode(patch)    // a map of strings can always be encoded
	return fmt.Sprintf("kubectl patch configmap %s -n %s --type merge -p '%s'", cm.Name, cm.Namespace, bytes.TrimSpace(text.Bytes()))
}

// withTLS replaces http with https in an address. It returns an empty string if the address does
// not begin with http://, or if the result is not a valid address.
func withTLS(address string) string {
	rest, plain := strings.CutPrefix(address, "http://")
	depot := v1alpha1.DepotSpec{URL: "https://" + rest}
	if !plain || admission.CheckDepot(&depot) != nil {
		return ""
	}
	return depot.URL
}
