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

// Input is what the second step is given.
type Input struct {
	List artifacts.List
	// Pins are files of the list whose content in the depot counts.
	Pins []Pin
	// OSImage is the path below /files of an uploaded OS image whose digest Metal3 is to compare; empty: none.
	OSImage string
	// Depot is the URL of the depot; empty: there is none, and nothing to do.
	Depot string
	// Connected: what the depot lacks is fetched from upstream. Otherwise nothing but the depot is ever asked.
	Connected bool
	// Platforms are those that are fetched of images for several; none: all.
	Platforms []v1.Platform
}

// Output is what the task finds out, a field per result.
type Output struct {
	Summary string
	// Checksums are the contents that count because the depot has them.
	Checksums inventory.Pins
	// OSImage is the SHA-256 of the OS image, in hexadecimal; empty: there is none to tell.
	OSImage string
}

// Results are the output as Tekton's results.
func (o Output) Results() map[string]string {
	if o.Checksums == nil {
		o.Checksums = inventory.Pins{} // the next task reads it in any case
	}
	checksums, _ := json.Marshal(o.Checksums) // maps of texts
	return map[string]string{
		contract.ResultArtifacts: o.Summary, contract.ResultChecksums: string(checksums), contract.ResultOSImage: cmp.Or(o.OSImage, contract.None),
	}
}

// Ports are what the second step works with.
type Ports struct {
	Depot func(ctx context.Context, url string) (*client.Depot, error)
	// Upstream is asked for only on a connected site.
	Upstream func() (transfer.Source, error)
	Log      io.Writer
	Now      func() time.Time
}

// Run sees to it that the depot has everything that is on the list. Run twice it sends nothing the second time.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	if in.Depot == "" {
		fmt.Fprintln(ports.Log, "No depot is named: there is nothing to bring anywhere.")
		return Output{Summary: "no depot"}, nil
	}
	depot, err := ports.Depot(ctx, in.Depot)
	if err != nil {
		return Output{}, task.Because(contract.ReasonDepotUnavailable, err)
	}
	defer depot.Close()
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

// ensure looks what is missing, and fetches it if that is allowed.
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

// compare leaves to nodes on a connected site what they can get from sources of their own.
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

// logPackages names what keeps nobody from going on.
func logPackages(log io.Writer, missing artifacts.Missing) {
	for _, system := range missing.Elsewhere {
		fmt.Fprintf(log, "The depot has no OS packages for %s (folder /files/%s): nodes use their own sources.\n", system, protocol.PackageFolder(system))
	}
	for _, p := range missing.Own {
		fmt.Fprintf(log, "Package %s of %s is not in the depot: nodes fetch it from their own sources.\n", p, p.System)
	}
	for _, need := range missing.Unresolved {
		fmt.Fprintf(log, "The depot's packages lack %s: nodes must have it already.\n", need)
	}
}

func there(missing artifacts.Missing, ports Ports, start time.Time) Output {
	o := Output{Summary: summary(missing, fmt.Sprintf("all %d artifacts are in the depot", missing.Of-len(missing.Own)))}
	fmt.Fprintf(ports.Log, "%s (looked at by digest in %s)\n", o.Summary, ports.Now().Sub(start).Round(time.Millisecond))
	return o
}

func summary(missing artifacts.Missing, text string) string {
	return strings.Join(append([]string{text}, missing.Notes()...), "; ")
}

// fetch brings what is missing, then looks again: the depot's word counts, not ours.
func fetch(ctx context.Context, in Input, ports Ports, depot *client.Depot, missing artifacts.Missing) (Output, error) {
	upstream, err := ports.Upstream()
	if err != nil {
		return Output{}, task.Because(contract.ReasonInternal, err)
	}
	fmt.Fprintf(ports.Log, "\nThis site is connected: fetch it from upstream\n")
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
			return Output{}, task.Because(contract.ReasonArtifactsMissing, fmt.Errorf("%d of %d artifacts cannot be fetched: %w", left.Size(), left.Of, failed))
		}
		return Output{}, task.Because(contract.ReasonArtifactsMissing, fmt.Errorf("%s", left.Short(in.Depot)))
	}
	return Output{Summary: summary(left, fmt.Sprintf("%d images and %d files were fetched (%s), the rest of %d artifacts was there",
		done.Images, done.Files, transfer.Bytes(done.Sent), left.Of-len(left.Own)))}, nil
}
