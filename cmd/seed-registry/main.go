// Command seed-registry is the task seed-registry. "seed-registry list" runs the playbooks to list
// the artifacts that an installation needs. "seed-registry seed" makes sure that the depot has
// them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/tasks/seedregistry"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

type options struct {
	request
	list                             string
	playbooksDir, scratchDir         string
	depotWrite, tokenFile, platforms string
}

// pinsSuffix is appended to the file name of the list. The result is the name of the file with the
// pins. A pin is the depot's checksum of a file that nodes download. Nodes verify the download with
// the pin instead of kubespray's checksum.
const pinsSuffix = ".pins"

func main() {
	var o options
	o.request.flags()
	flag.StringVar(&o.list, "list", "", `file that the step "list" writes and the step "seed" reads`)
	flag.StringVar(&o.playbooksDir, "playbooks-dir", "/kubespray", "list: folder with the playbooks and their ansible.cfg")
	flag.StringVar(&o.scratchDir, "scratch-dir", os.TempDir(), "list: writable folder")
	flag.StringVar(&o.depotWrite, "depot", "", "seed: URL for writing to the depot; empty: the URL that nodes read from")
	flag.StringVar(&o.tokenFile, "token-file", "", "seed: file with the token for the depot")
	flag.StringVar(&o.platforms, "platforms", "", "seed: platforms to fetch of multi-platform images, such as linux/amd64,linux/arm64; empty: all")
	resultsDir := flag.String("results-dir", task.ResultsDir, "folder for results")
	step, args := "", os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		step, args = args[0], args[1:]
	}
	_ = flag.CommandLine.Parse(args) // exits the process on an error

	steps := map[string]func(context.Context, options, contract.Request) (map[string]string, error){"list": list, "seed": seed}
	task.Main(*resultsDir, func(ctx context.Context) (map[string]string, error) {
		run, ok := steps[step]
		if !ok {
			return nil, fmt.Errorf("%q is not a step: use list or seed", step)
		}
		request, err := o.request.read()
		if err != nil {
			return nil, err
		}
		return run(ctx, o, request)
	})
}

func list(ctx context.Context, o options, request contract.Request) (map[string]string, error) {
	in := seedregistry.ListInput{Request: request, PlaybooksDir: o.playbooksDir, ScratchDir: o.scratchDir}
	needed, pins, err := seedregistry.List(ctx, in, seedregistry.ListPorts{
		Playbook: process.Play,
		Log:      os.Stdout,
	})
	if err != nil {
		return nil, err
	}
	if err := seedregistry.WritePins(o.list+pinsSuffix, pins); err != nil {
		return nil, err
	}
	return nil, seedregistry.WriteList(o.list, needed)
}

func seed(ctx context.Context, o options, request contract.Request) (map[string]string, error) {
	needed, err := seedregistry.ReadList(o.list)
	if err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, err)
	}
	pins, err := seedregistry.ReadPins(o.list + pinsSuffix)
	if err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, err)
	}
	in := seedregistry.Input{Request: request, Pins: pins, OSImage: seedregistry.UploadedImage(request), List: seedregistry.WithOSImage(needed, request), Depot: request.DepotURL, Connected: request.Connected}
	if o.depotWrite != "" && in.Depot != "" {
		in.Depot = o.depotWrite
	}
	if in.Platforms, err = platforms(o.platforms); err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, err)
	}
	out, err := seedregistry.Run(ctx, in, seedregistry.Ports{
		Depot: func(ctx context.Context, url string) (*client.Depot, error) {
			return client.Connect(ctx, url, client.Options{TokenFile: tokenFor(request, o), CA: []byte(request.DepotCA)})
		},
		Upstream: func() (transfer.Source, error) { return transfer.NewUpstream(nil) },
		Log:      os.Stdout,
		Now:      time.Now,
	})
	if err != nil {
		return nil, err
	}
	return out.Results(), nil
}

// tokenFor returns the name of the file with the token for the depot, or an empty string if no
// token must be sent. The token is valid at the site's depot. It is not sent to another depot that
// a Provisioning names, because the author of the Provisioning could read it there.
func tokenFor(request contract.Request, o options) string {
	if request.DepotOfSite || o.depotWrite != "" {
		return present(o.tokenFile)
	}
	fmt.Println("The depot is not the one in the site's settings (ConfigMap config-bpa), so no token is sent to it.")
	return ""
}

// present returns the file name if the file exists, else an empty string. The file does not exist
// on a site whose depot needs no token.
func present(file string) string {
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	return file
}

func platforms(text string) (all []v1.Platform, err error) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		p, err := v1.ParsePlatform(part)
		if err != nil {
			return nil, fmt.Errorf("platform %q: %w", part, err)
		}
		all = append(all, *p)
	}
	return all, nil
}
