package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// longest is more than a ConfigMap can hold.
const longest = 2 << 20

// ReadRequest reads the request from the workspace in dir and makes sure that it is the one of the given Provisioning.
func ReadRequest(dir, namespace, provisioning string) (contract.Request, error) {
	var r contract.Request
	if err := checkVersion(dir); err != nil {
		return r, err
	}
	if err := read(dir, contract.KeyRequest, &r); err != nil {
		return r, err
	}
	if r.Namespace != namespace || r.Provisioning != provisioning {
		return r, invalid(contract.KeyRequest, fmt.Errorf("it is for %s/%s, but this run is for %s/%s", r.Namespace, r.Provisioning, namespace, provisioning))
	}
	return r, nil
}

// ReadNodes reads the nodes that select-hosts has found hosts for and that are to be installed: those on standby are not for the tasks after it.
func ReadNodes(dir string) ([]contract.Node, error) {
	var nodes []contract.Node
	err := read(dir, contract.KeyNodes, &nodes)
	return slices.DeleteFunc(nodes, func(n contract.Node) bool { return n.Standby }), err
}

// checkVersion refuses a request that a task of this build would get wrong. The next attempt may find Tasks of the controller's build.
func checkVersion(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, contract.KeyVersion))
	if errors.Is(err, os.ErrNotExist) {
		return nil // a build before there were versions wrote it
	}
	if err != nil {
		return invalid(contract.KeyVersion, err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return invalid(contract.KeyVersion, err)
	}
	if version > contract.Version {
		return Because(contract.ReasonVersionSkew, fmt.Errorf("the controller's build writes requests of version %d, and this task's build reads "+
			"versions up to %d: apply config/ of the controller's release", version, contract.Version))
	}
	return nil
}

func read(dir, name string, into any) error {
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return invalid(name, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longest+1))
	if err == nil && len(text) > longest {
		err = fmt.Errorf("it is longer than %d bytes", longest)
	}
	if err == nil {
		err = json.Unmarshal(text, into) // what a newer build added is passed over: see contract.Version
	}
	if err != nil {
		return invalid(name, err)
	}
	return nil
}

func invalid(name string, err error) error {
	return Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", name, err))
}
