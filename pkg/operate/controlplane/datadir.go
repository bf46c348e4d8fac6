package controlplane

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// SnapshotSpare is the space in KiB that must be left on the disk after a snapshot.
const SnapshotSpare = 1 << 20

var dataDirPattern = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)

// EtcdDataDir returns the folder of etcd's data on the control plane nodes. The result is safe in a
// script.
func EtcdDataDir(in session.Input) (string, error) {
	var vars struct {
		Dir *string `json:"etcd_data_dir"`
	}
	if err := json.Unmarshal(in.GroupVars, &vars); err != nil || vars.Dir == nil {
		return "/var/lib/etcd", nil
	}
	if !dataDirPattern.MatchString(*vars.Dir) {
		return "", task.Because(contract.ReasonInvalidRequest, fmt.Errorf("variable etcd_data_dir is %q, which is not the path of a folder without special characters", *vars.Dir))
	}
	return *vars.Dir, nil
}
