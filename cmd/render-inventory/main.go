// Command render-inventory is the task render-inventory. It renders hosts.ini and the variables for
// kubespray.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/renderinventory"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func main() {
	provisioning := flag.String("provisioning", "", "name of the Provisioning to render the inventory of")
	namespace := flag.String("namespace", "", "namespace of the Provisioning")
	requestDir := flag.String("request-dir", "", "folder with "+contract.KeyRequest)
	inventoryDir := flag.String("inventory-dir", "", "folder with "+contract.KeyNodes)
	checksums := flag.String("checksums", "", "checksums of files in the depot, the result of seed-registry; they replace kubespray's checksums of these files")
	resultsDir := flag.String("results-dir", task.ResultsDir, "folder for results")
	flag.Parse()

	task.Main(*resultsDir, func(ctx context.Context) (map[string]string, error) {
		request, err := task.ReadRequest(*requestDir, *namespace, *provisioning)
		if err != nil {
			return nil, err
		}
		nodes, err := task.ReadNodes(*inventoryDir, request)
		if err != nil {
			return nil, err
		}
		pins, err := inventory.ParsePins(*checksums)
		if err != nil {
			return nil, task.Because(contract.ReasonInvalidRequest, err)
		}
		maps, err := kube.ConfigMaps(*namespace)
		if err != nil {
			return nil, err
		}
		out, err := renderinventory.Run(ctx, renderinventory.Input{Request: request, Nodes: nodes, Pins: pins}, renderinventory.Ports{
			Inventory: kube.NewStore(maps, request.Outcome),
			Reason:    kube.Reason,
			Log:       os.Stdout,
		})
		return out.Results(), err
	})
}
