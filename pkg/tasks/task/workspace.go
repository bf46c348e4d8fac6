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

// longest is the maximum size of a file in bytes. A ConfigMap cannot hold as much.
const longest = 2 << 20

// ReadRequest reads the request from the workspace in dir. It fails if the request belongs to
// another Provisioning (ReasonInvalidRequest) or has a newer version than this build can read
// (ReasonVersionSkew).
func ReadRequest(dir, namespace, provisioning string) (contract.Request, error) {
	var r contract.Request
	if err := checkVersion(dir); err != nil {
		return r, err
	}
	if err := read(dir, contract.KeyRequest, &r); err != nil {
		return r, err
	}
	if r.Namespace != namespace || r.Provisioning != provisioning {
		return r, invalid(contract.KeyRequest, fmt.Errorf("it is for Provisioning %s/%s, but this run is for %s/%s", r.Namespace, r.Provisioning, namespace, provisioning))
	}
	return r, nil
}

// ReadNodes reads the nodes to install from the workspace in dir: the nodes for which select-hosts
// has claimed hosts, without the standby nodes.
func ReadNodes(dir string) ([]contract.Node, error) {
	var nodes []contract.Node
	err := read(dir, contract.KeyNodes, &nodes)
	return slices.DeleteFunc(nodes, func(n contract.Node) bool { return n.Standby }), err
}

// checkVersion rejects a request that this build of the task would misread. Its reason is
// transient, since the next attempt may use Tasks of the controller's build.
func checkVersion(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, contract.KeyVersion))
	if errors.Is(err, os.ErrNotExist) {
		return nil // written by a build without request versions
	}
	if err != nil {
		return invalid(contract.KeyVersion, err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return invalid(contract.KeyVersion, err)
	}
	if version > contract.Version {
		return Because(contract.ReasonVersionSkew, fmt.Errorf("the controller writes requests of version %d, but this task reads "+
			"versions up to %d only: apply config/ of the controller's release", version, contract.Version))
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
		err = json.Unmarshal(text, into) // unknown fields of a newer build are ignored: see contract.Version
	}
	if err != nil {
		return invalid(name, err)
	}
	return nil
}

func invalid(name string, err error) error {
	return Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", name, err))
}
