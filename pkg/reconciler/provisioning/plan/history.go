package plan

import (
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// alwaysKept is the number of the newest runs that are kept however old they are.
const alwaysKept = 2

// surplus returns the finished runs beyond the history limit, and those that ended too long ago. It never returns the
// newest run, because later reconciles read the state from it. The runs for Softwares have a history of their own. A run that is deleted already is not returned
// again: a finalizer can hold it for ever, and nothing else would be done for the cluster.
func surplus(s Seen, now time.Time) []string {
	var old []string
	if s.endsEarly { // it has not ended yet
		return nil
	}
	for _, runs := range [][]Run{s.Runs, s.Software.Runs} {
		for i, r := range runs {
			newer := len(runs) - i - 1
			aged := newer >= alwaysKept && s.Limits.HistoryAge > 0 && now.Sub(r.Completed) > s.Limits.HistoryAge
			if r.State != Active && !r.Leaving && (newer >= max(s.Limits.History, 1) || aged) {
				old = append(old, r.Name)
			}
		}
	}
	return old
}

// LastCollected returns the index of the last run that has collected a kubeconfig; -1: there is none, or a restore after it
// has given the cluster other users.
func LastCollected(runs []Run) int {
	for i, r := range slices.Backward(runs) {
		if t := r.task(contract.TaskCollectKubeconfig); t != nil && t.State == Succeeded {
			return i
		}
		if r.Operation == contract.OperationRestore {
			return -1
		}
	}
	return -1
}
