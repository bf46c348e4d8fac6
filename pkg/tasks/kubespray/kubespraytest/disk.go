package kubespraytest

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

// Disk is what a fake machine contains. It answers the scripts of fakeMachines.
type Disk struct {
	Mu     sync.Mutex
	Report machine.Report
	did    []string // the other scripts that changed the machine
	// Authorized is the line of a cluster's key; empty: the machine accepts the key of no cluster.
	Authorized string
	// Before is called before each script. A status other than 0 ends the script, which then changes
	// nothing.
	Before func(script string, stderr io.Writer) int
}

// With puts a cluster on the machine.
func (d *Disk) With(uid string) {
	d.Report = machine.Report{Kubernetes: []string{"process kubelet (412)"}, Left: []string{"process kubelet (412)", "directory /etc/kubernetes"}}
	if uid != "" {
		d.Report.User = contract.User{Namespace: "site", Name: "cluster-of-" + uid, UID: uid}
	}
}

func (d *Disk) answer(script string, stdout, stderr io.Writer) int {
	if d.Before != nil {
		if status := d.Before(script, stderr); status != 0 {
			return status
		}
	}
	d.Mu.Lock()
	defer d.Mu.Unlock()
	verb, rest, _ := strings.Cut(script, " ")
	if verb != "inspect" && verb != "authorize" { // authorized says what authorize has done
		d.did = append(d.did, verb)
	}
	switch verb {
	case "inspect":
		if err := json.NewEncoder(stdout).Encode(d.Report); err != nil {
			fmt.Fprint(stderr, err)
			return 1
		}
	case "mark":
		d.Report.User = contract.ParseUser(rest)
	case "authorize":
		d.Authorized = rest
	case "clean":
		d.Report = machine.Report{}
	}
	return 0
}

// Changes returns the scripts that changed the machine.
func (d *Disk) Changes() []string {
	d.Mu.Lock()
	defer d.Mu.Unlock()
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
