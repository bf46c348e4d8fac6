package kubespray

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
)

// disk is what a fake machine contains. It answers the scripts of fakeMachines.
type disk struct {
	mu     sync.Mutex
	report machine.Report
	did    []string // the other scripts that changed the machine
	// authorized is the line of a cluster's key; empty: the machine accepts the key of no cluster.
	authorized string
	// before is called before each script. A status other than 0 ends the script, which then changes
	// nothing.
	before func(script string, stderr io.Writer) int
}

// with puts a cluster on the machine.
func (d *disk) with(uid string) {
	d.report = machine.Report{Kubernetes: []string{"process kubelet (412)"}, Left: []string{"process kubelet (412)", "directory /etc/kubernetes"}}
	if uid != "" {
		d.report.User = contract.User{Namespace: "site", Name: "cluster-of-" + uid, UID: uid}
	}
}

func (d *disk) answer(script string, stdout, stderr io.Writer) int {
	if d.before != nil {
		if status := d.before(script, stderr); status != 0 {
			return status
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	verb, rest, _ := strings.Cut(script, " ")
	if verb != "inspect" && verb != "authorize" { // authorized says what authorize has done
		d.did = append(d.did, verb)
	}
	switch verb {
	case "inspect":
		if err := json.NewEncoder(stdout).Encode(d.report); err != nil {
			fmt.Fprint(stderr, err)
			return 1
		}
	case "mark":
		d.report.User = contract.ParseUser(rest)
	case "authorize":
		d.authorized = rest
	case "clean":
		d.report = machine.Report{}
	}
	return 0
}

// changes returns the scripts that changed the machine.
func (d *disk) changes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.did)
}

// fakeMachines implements Machines with scripts that a disk answers.
type fakeMachines struct{}

func (fakeMachines) Inspect(ctx context.Context, sh machine.Shell) (r machine.Report, err error) {
	text, err := sh(ctx, "fake inspect")
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

func (fakeMachines) Mark(ctx context.Context, sh machine.Shell, user contract.User) error {
	_, err := sh(ctx, "fake mark "+user.String())
	return err
}

func (fakeMachines) Save(ctx context.Context, sh machine.Shell) error {
	_, err := sh(ctx, "fake save")
	return err
}

func (fakeMachines) Authorize(ctx context.Context, sh machine.Shell, line string) error {
	_, err := sh(ctx, strings.TrimSpace("fake authorize "+line))
	return err
}

func (fakeMachines) Clean(ctx context.Context, sh machine.Shell) error {
	_, err := sh(ctx, "fake clean")
	return err
}
