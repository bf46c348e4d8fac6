package survey

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

func TestJudge(t *testing.T) {
	const mac, other = "02:00:00:00:00:01", "02:00:00:00:00:02"
	edge := contract.User{Namespace: "a", Name: "edge", UID: "1"}
	again := contract.User{Namespace: "a", Name: "edge", UID: "2"}
	right := machine.Identity{Name: "n", MACs: []string{mac}}
	running := []string{"process kubelet (1)"}
	for name, tc := range map[string]struct {
		expected Expected
		answer   Answer
		want     Standing
		why      string
	}{
		"a node":                            {Expected{Cluster: edge, Member: true}, Answer{User: edge, Kubernetes: running}, Agrees, "cluster a/edge"},
		"a node that an install has begun":  {Expected{Cluster: edge}, Answer{User: edge}, Agrees, "cluster a/edge"},
		"a free server":                     {Expected{}, Answer{}, Agrees, "no cluster"},
		"free, has got a cluster since":     {Expected{}, Answer{User: edge, Kubernetes: running}, Newer, "has the cluster a/edge (1); the objects have none"},
		"free, marked before the install":   {Expected{}, Answer{User: edge}, Newer, "none on it"},
		"a node, of another cluster now":    {Expected{Cluster: edge, Member: true}, Answer{User: contract.User{Namespace: "a", Name: "b", UID: "9"}, Kubernetes: running}, Newer, "a/b (9); the objects have a/edge (1)"},
		"a node, of a later cluster":        {Expected{Cluster: edge, Member: true}, Answer{User: again, Kubernetes: running}, Newer, "a/edge (2)"},
		"the UID of another namespace":      {Expected{Cluster: edge}, Answer{User: contract.User{Namespace: "b", Name: "edge", UID: "1"}, Kubernetes: running}, Newer, "b/edge (1)"},
		"marks without a UID do not agree":  {Expected{Cluster: contract.User{Namespace: "a", Name: "edge"}}, Answer{User: contract.User{Namespace: "a", Name: "edge"}}, Newer, "no name"},
		"a node that was reset since":       {Expected{Cluster: edge, Member: true}, Answer{}, Newer, "not on it any more"},
		"a node whose reset has begun":      {Expected{Cluster: edge, Member: true}, Answer{User: edge}, Newer, "Kubernetes of the cluster a/edge"},
		"a Kubernetes without a mark":       {Expected{}, Answer{Kubernetes: running}, Unknown, "process kubelet (1)"},
		"a node without its mark":           {Expected{Cluster: edge, Member: true}, Answer{Kubernetes: running}, Unknown, "does not say whose"},
		"held by another operator":          {Expected{Holder: "Metal3Machine m"}, Answer{}, Unknown, "Metal3Machine m"},
		"another machine":                   {Expected{Cluster: edge}, Answer{User: edge, At: "10.0.0.1:22", Identity: machine.Identity{Name: "router", MACs: []string{other}}}, Unknown, "another machine answers at 10.0.0.1:22: router has " + other},
		"another machine, the pinned key":   {Expected{Cluster: edge, Pinned: true}, Answer{User: edge, Identity: machine.Identity{MACs: []string{other}}}, Unknown, "another machine"},
		"a machine that shows nothing":      {Expected{}, Answer{Identity: machine.Identity{Name: "x"}}, Unknown, "no MAC address"},
		"nothing is known of the host":      {Expected{MACs: []string{"0"}}, Answer{}, Unknown, "neither a MAC address"},
		"only the pinned key is known":      {Expected{MACs: []string{"0"}, Pinned: true, Cluster: edge}, Answer{User: edge}, Agrees, ""},
		"off":                               {Expected{}, Answer{Err: fmt.Errorf("%w: x", ssh.ErrUnreachable)}, Silent, "unreachable"},
		"no address":                        {Expected{}, Answer{Err: ErrNoAddress}, Silent, "no address"},
		"it rejects the key":                {Expected{}, Answer{Err: ssh.ErrDenied}, Unknown, "denied"},
		"it has another host key":           {Expected{}, Answer{Err: &ssh.KeyChangedError{Want: "a", Got: "b"}}, Unknown, "host key"},
		"its content cannot be read":        {Expected{}, Answer{Err: errors.New("inspect")}, Unknown, "inspect"},
		"a mark that is no text of BPA":     {Expected{}, Answer{User: contract.ParseUser("x")}, Newer, "cluster x"},
		"held, nothing is installed yet":    {Expected{}, Answer{}, Agrees, "no cluster"},
		"released without a reset, as then": {Expected{Cluster: edge}, Answer{User: edge, Kubernetes: running}, Agrees, "a/edge"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.expected.MACs == nil {
				tc.expected.MACs = []string{strings.ToUpper(mac)}
			}
			if tc.answer.Identity.MACs == nil && tc.answer.Identity.Name == "" {
				tc.answer.Identity = right
			}
			if got, why := Judge(tc.expected, tc.answer); got != tc.want || !strings.Contains(why, tc.why) {
				t.Errorf("%s: %q, want %s: ...%s...", got, why, tc.want, tc.why)
			}
		})
	}
}
