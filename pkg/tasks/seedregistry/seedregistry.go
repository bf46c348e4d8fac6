package seedregistry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// Input holds the parameters of the second step.
type Input struct {
	List artifacts.List
	// Pins are the files of the list for which the playbooks have no checksum. Nodes verify them
	// with the depot's checksums.
	Pins []Pin
	// OSImage is the path below /files of an uploaded OS image; empty: there is none. The task
	// returns the digest with which Metal3 verifies the image.
	OSImage string
	// Depot is the URL of the depot. Empty: there is no depot, so the step does nothing.
	Depot string
	// Connected allows the step to fetch missing artifacts from upstream. If it is false, the step
	// connects only to the depot.
	Connected bool
	// Request is the request whose plugins are checked. Their images and files must be in the depot too.
	Request contract.Request
	// Platforms are the platforms of a multi-platform image that are fetched. Empty: all.
	Platforms []v1.Platform
}

// Output holds the results of the second step.
type Output struct {
	Summary string
	// Checksums are the depot's checksums of the files in Input.Pins.
	Checksums inventory.Pins
	// OSImage is the SHA-256 of the uploaded OS image, in hexadecimal. Empty: there is none.
	OSImage string
}

// Results returns the output as Tekton results, by name.
func (o Output) Results() map[string]string {
	if o.Checksums == nil {
		o.Checksums = inventory.Pins{} // not null: the next task always parses this result
	}
	checksums, _ := json.Marshal(o.Checksums) // encoding a map of strings cannot fail
	return map[string]string{
		contract.ResultArtifacts: o.Summary, contract.ResultChecksums: string(checksums), contract.ResultOSImage: cmp.Or(o.OSImage, contract.None),
	}
}

// Ports are the functions and objects through which the second step reaches the outside.
type Ports struct {
	Depot func(ctx context.Context, url string) (*client.Depot, error)
	// Upstream is called only on a connected site, and only if an artifact is missing.
	Upstream func() (transfer.Source, error)
	Log      io.Writer
	Now      func() time.Time
}

// Run makes sure that the depot has all artifacts of the list. A second run with the same input
// transfers nothing. A plugin that cannot be installed is an error, even without a depot, except in the
// repair of a complete cluster (see repairs). If the depot does not answer, the error has the reason ReasonDepotUnavailable.
// If artifacts are missing, it has the reason ReasonArtifactsMissing.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	if in.Depot == "" {
		if _, err := withPlugins(ctx, in, ports, nil); err != nil {
			return Output{}, err
		}
		fmt.Fprintln(ports.Log, "No depot is set: there is nothing to copy.")
		return Output{Summary: "no depot"}, nil
	}
	depot, err := ports.Depot(ctx, in.Depot)
	if err != nil {
		return Output{}, task.Because(contract.ReasonDepotUnavailable, err)
	}
	defer depot.Close()
	if in.List, err = withPlugins(ctx, in, ports, depot); err != nil {
		return Output{}, err
	}
	out, err := ensure(ctx, in, ports, depot)
	if err != nil {
		return Output{}, err
	}
	if out.Checksums, err = pinned(ctx, in.Pins, depot, ports.Log); err != nil {
		return Output{}, err
	}
	if out.OSImage, err = imageDigest(ctx, in.OSImage, depot); err != nil {
		return Output{}, task.Because(contract.ReasonDepotUnavailable, err)
	}
	return out, nil
}

// ensure compares the list with the depot and, on a connected site, fetches the missing artifacts.
func ensure(ctx context.Context, in Input, ports Ports, depot *client.Depot) (Output, error) {
	start := ports.Now()
	missing, err := compare(ctx, in, depot)
	if err != nil {
		return Output{}, task.Because(contract.ReasonDepotUnavailable, err)
	}
	logPackages(ports.Log, missing)
	if missing.Nothing() {
		return there(missing, ports, start), nil
	}
	fmt.Fprint(ports.Log, missing.Full(in.Depot))
	if !in.Connected {
		return Output{}, task.Because(contract.ReasonArtifactsMissing, fmt.Errorf("%s", missing.Short(in.Depot)))
	}
	return fetch(ctx, in, ports, depot, missing)
}

// compare returns the artifacts that the depot lacks. On a connected site, missing OS packages do
// not count as missing, because nodes can get them from their own package sources.
func compare(ctx context.Context, in Input, depot *client.Depot) (artifacts.Missing, error) {
	have, err := depot.Stat(ctx, in.List)
	if err != nil {
		return artifacts.Missing{}, err
	}
	missing := artifacts.Compare(in.List, have)
	if in.Connected {
		missing.Own, missing.Packages = missing.Packages, nil
	}
	return missing, nil
}

// logPackages lists those missing packages that do not stop the run.
func logPackages(log io.Writer, missing artifacts.Missing) {
	for _, system := range missing.Elsewhere {
		fmt.Fprintf(log, "The depot has no OS packages for %s (folder /files/%s): nodes use their own package sources.\n", system, protocol.PackageFolder(system))
	}
	for _, p := range missing.Own {
		fmt.Fprintf(log, "Package %s of %s is not in the depot: nodes fetch it from their own package sources.\n", p, p.System)
	}
	for _, need := range missing.Unresolved {
		fmt.Fprintf(log, "The depot does not have %s: nodes must have it already.\n", need)
	}
}

func there(missing artifacts.Missing, ports Ports, start time.Time) Output {
	text := fmt.Sprintf("all %d artifacts are in the depot", missing.Of-len(missing.Own))
	if missing.Of == 0 { // such as a run that only patches operating systems
		text = "the run needs no artifacts"
	}
	o := Output{Summary: summary(missing, text)}
	fmt.Fprintf(ports.Log, "%s (checked by digest, which took %s)\n", o.Summary, ports.Now().Sub(start).Round(time.Millisecond))
	return o
}

func summary(missing artifacts.Missing, text string) string {
	return strings.Join(append([]string{text}, missing.Notes()...), "; ")
}

// fetch copies missing artifacts from upstream to the depot and compares the list with the depot
// again. The run succeeds if nothing is missing then, even if the copy reported an error.
func fetch(ctx context.Context, in Input, ports Ports, depot *client.Depot, missing artifacts.Missing) (Output, error) {
	upstream, err := ports.Upstream()
	if err != nil {
		return Output{}, task.Because(contract.ReasonInternal, err)
	}
	fmt.Fprintf(ports.Log, "\nThis site is connected: fetching the missing artifacts from upstream\n")
	done, failed := transfer.ToDepot(ctx, missing.List, upstream, depot, transfer.Options{Platforms: in.Platforms, Log: ports.Log, Now: ports.Now})
	if ctx.Err() != nil {
		return Output{}, failed
	}
	left, err := compare(ctx, in, depot)
	if err != nil {
		return Output{}, task.Because(contract.ReasonDepotUnavailable, err)
	}
	if !left.Nothing() {
		if failed != nil {
			fmt.Fprintf(ports.Log, "\n%v\n", failed)
			return Output{}, task.Because(contract.ReasonArtifactsMissing, fmt.Errorf("%d of %d artifacts could not be fetched from upstream: %w", left.Size(), left.Of, failed))
		}
		return Output{}, task.Because(contract.ReasonArtifactsMissing, fmt.Errorf("%s", left.Short(in.Depot)))
	}
	return Output{Summary: summary(left, fmt.Sprintf("%d images and %d files were fetched (%s); the rest of %d artifacts was in the depot",
		done.Images, done.Files, transfer.Bytes(done.Sent), left.Of-len(left.Own)))}, nil
}
