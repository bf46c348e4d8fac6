package task

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// longest is the maximum size of a file in bytes. A ConfigMap is always smaller.
const longest = 2 << 20

// ReadRequest reads the request from the workspace in dir. If the request belongs to another
// Provisioning, the error has the reason ReasonInvalidRequest. If its version is newer than this
// build can read, the error has the reason ReasonVersionSkew.
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

// ReadNodes returns the nodes of the run, without standby nodes. If the run claims hosts, it reads from the workspace in
// dir for which nodes select-hosts has claimed them.
func ReadNodes(dir string, request contract.Request) ([]contract.Node, error) {
	var claimed []contract.Node
	if request.ClaimsHosts() {
		if err := read(dir, contract.KeyNodes, &claimed); err != nil {
			return nil, err
		}
	}
	return request.NodesOf(claimed), nil
}

// ReadMembers returns the nodes of the cluster as the run leaves it: those of ReadNodes, without a node that the run
// removes. By then its machine can have the cluster of another owner.
func ReadMembers(dir string, request contract.Request) ([]contract.Node, error) {
	nodes, err := ReadNodes(dir, request)
	return slices.DeleteFunc(nodes, request.Removes), err
}

// checkVersion rejects a request that this build of the task would misunderstand. The failure
// reason is transient, because the next attempt may use the Tasks of the controller's build.
func checkVersion(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, contract.KeyVersion))
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
	if version < contract.Version {
		return Because(contract.ReasonVersionSkew, fmt.Errorf("the request has version %d, but this task reads version %d: BPA was upgraded "+
			"during the run, or config/ of an older release was applied", version, contract.Version))
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
		err = json.Unmarshal(text, into) // a newer build may have added fields: they are ignored, see contract.Version
	}
	if err != nil {
		return invalid(name, err)
	}
	return nil
}

func invalid(name string, err error) error {
	return Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", name, err))
}
