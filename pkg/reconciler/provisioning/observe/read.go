package observe

import (
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// parse returns what the text in this field of an object says.
func parse[T any](r Reader, object, field, text string, read func(string) T) T {
	return r.Parse(object, field, reflect.TypeFor[T](), text, func(text string) any { return read(text) }).(T)
}

// readJSON reads JSON that a task wrote into a ConfigMap of the Provisioning. If the JSON is missing or invalid,
// into stays unchanged and there is no error: a task that writes invalid data must not stop anybody.
func readJSON[T any](r Reader, name, key string, into *T) error {
	cm, err := r.ConfigMap(name)
	if err == nil && cm != nil {
		intoJSON(r, name, key, cm.Data[key], into)
	}
	return err
}

func intoJSON[T any](r Reader, name, key, text string, into *T) {
	if text == "" {
		return
	}
	*into = parse(r, name, key, text, func(text string) (value T) {
		_ = json.Unmarshal([]byte(text), &value)
		return value
	})
}

// States reads the states of the hosts, the record of the cluster and the claimed nodes.
func States(r Reader, cm *corev1.ConfigMap, seen *plan.Seen) {
	seen.States = parse(r, cm.Name, contract.KeyHosts, cm.Data[contract.KeyHosts], readHostStates)
	// The controller creates the ConfigMap without the key. The first run writes it.
	seen.Recorded = seen.States != nil
	seen.Proved = cm.Data[contract.KeyProved]
	seen.Memory = parse(r, cm.Name, contract.KeyInstalled, cm.Data[contract.KeyInstalled], readInstalled)
	intoJSON(r, cm.Name, contract.KeyClaimed, cm.Data[contract.KeyClaimed], &seen.Nodes)
}

// readHostStates returns nil if there are no states, or if they cannot be parsed.
func readHostStates(text string) contract.HostStates {
	states, err := contract.ParseHostStates(text)
	if err != nil {
		return nil
	}
	return states
}

// readInstalled returns nil if there is no record, or if it cannot be parsed. It is then rebuilt: see Seen.Remember.
func readInstalled(text string) *contract.Installed {
	installed := &contract.Installed{}
	if text == "" || json.Unmarshal([]byte(text), installed) != nil || len(installed.Nodes) == 0 {
		return nil
	}
	return installed
}

// SoftwareRecord returns the record of the packages. It is empty if it cannot be parsed, as in readJSON.
func SoftwareRecord(r Reader, cm *corev1.ConfigMap) contract.SoftwareRecord {
	return parse(r, cm.Name, contract.KeySoftware, cm.Data[contract.KeySoftware], func(text string) contract.SoftwareRecord {
		record, _ := contract.ParseSoftwareRecord(text)
		return record
	})
}

// Request returns the request of a run. It returns the zero value if this build of BPA cannot read it, because
// another build wrote it.
func Request(r Reader, cm *corev1.ConfigMap) contract.Request {
	return parse(r, cm.Name, contract.KeyRequest, cm.Data[contract.KeyRequest], func(text string) (request contract.Request) {
		if json.Unmarshal([]byte(text), &request) != nil {
			return contract.Request{}
		}
		return request
	})
}
