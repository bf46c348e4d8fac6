package plan

import (
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// reportRestore reports the requested restore, or the last one.
func reportRestore(status *v1alpha1.ProvisioningStatus, s Seen) {
	if s.Deleting {
		return
	}
	asked := s.RestoreAsked()
	next := v1alpha1.RestoreStatus{Requested: asked, State: v1alpha1.RestoreWaiting}
	newest, half := s.Newest(), s.Memory != nil && s.Memory.Restoring != ""
	why := s.RestoreProblem()
	ours := newest != nil && newest.Operation == contract.OperationRestore
	switch {
	case ours && newest.State == Active: // it goes on until it is stopped, even if it is not requested any more
		next.Requested, next.State = newest.Restore, v1alpha1.RestoreRunning
	case asked == "" && (s.Memory == nil || s.Memory.Restored == ""):
		if status.Restore != nil && status.Restore.State != v1alpha1.RestoreComplete { // it was taken back
			status.Restore = nil
		}
		return
	case asked == "":
		next.Requested, next.State = s.Memory.Restored, v1alpha1.RestoreComplete
	case half:
		next.State, next.Message = v1alpha1.RestoreIncomplete, why
	case why != "":
		next.State, next.Message = v1alpha1.RestoreRefused, why
	case ours && newest.State == Failed && newest.Restore == asked && !newest.onlyProved() && !newest.Superseded:
		next.State = v1alpha1.RestoreFailed
	}
	next.Message = cut(next.Message, longestMessage)
	next.Backup, _ = RestoreFrom(next.Requested)
	switch b := s.Source.Backup; {
	case b != nil && b.Name == next.Backup:
		next.BackupTime = b.Status.StartTime
	case status.Restore != nil && status.Restore.Backup == next.Backup:
		next.BackupTime = status.Restore.BackupTime
	}
	status.Restore = &next
}

// rememberRestore completes a rebuilt record. A run that has touched hosts may have begun the restore.
func (s *Seen) rememberRestore() {
	newest := s.Newest()
	if s.Restored != nil {
		switch s.Restored.State {
		case v1alpha1.RestoreComplete:
			s.Memory.Restored = s.Restored.Requested
		case v1alpha1.RestoreRunning, v1alpha1.RestoreIncomplete:
			s.Memory.Restoring = s.Restored.Requested
		}
	}
	r := s.Started.Restore
	if r == nil || newest == nil || newest.Operation != contract.OperationRestore {
		return
	}
	switch {
	case newest.State == Succeeded:
		s.Memory.SetRestored(r.Asked)
	case newest.Touched && !newest.onlyProved():
		s.Memory.Restoring = r.Asked
	default:
		s.Memory.Restoring = ""
	}
}

// onlyProved reports whether the run has only proved that the restore can begin, so that the lost hosts can
// be powered off.
func (r Run) onlyProved() bool {
	return r.State == Failed && Classify(r).Reason == contract.ReasonHostsNotFenced
}
