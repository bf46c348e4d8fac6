package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Record is what the machine knows of its last backup, also while the folder of the backups is not mounted.
type Record struct {
	Time   time.Time `json:"time,omitzero"` // of the last backup
	File   string    `json:"file,omitempty"`
	Failed time.Time `json:"failed,omitzero"` // of the last attempt, if it has failed
	Error  string    `json:"error,omitempty"`
	Copies string    `json:"copies,omitempty"` // why not all Backups of clusters were copied after the last backup
}

// RecordCopies records the result of Copies.Store, of the schedule.
func RecordCopies(l layout.Layout, failed error) error {
	return record(l, func(r *Record) {
		if r.Copies = ""; failed != nil {
			r.Copies = failed.Error()
		}
	})
}

// ReadRecord returns the record of a machine, which is empty before the first backup.
func ReadRecord(l layout.Layout) (Record, error) {
	text, err := os.ReadFile(l.BackupRecord())
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, nil
	}
	var r Record
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return Record{}, fmt.Errorf("read the record of backups: %w", err)
	}
	return r, nil
}

func record(l layout.Layout, change func(*Record)) error {
	r, _ := ReadRecord(l) // a damaged one is replaced
	change(&r)
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.BackupRecord()), 0o711); err != nil {
		return err
	}
	return disk.WriteFile(l.BackupRecord(), text, 0o600)
}

// retry is how long the schedule waits after a failure, or a tenth of the interval if that is shorter.
const retry = 10 * time.Minute

// Due reports whether the schedule wants a backup now. A last backup in the future means that the clock was wrong.
func Due(s Settings, r Record, now time.Time) bool {
	if since := now.Sub(r.Failed); since >= 0 && since < min(retry, s.Interval()/10) {
		return false
	}
	since := now.Sub(r.Time)
	return since < 0 || since >= s.Interval()
}

// Status describes the state of the backups of a machine in one line or two. A line that begins with WARNING wants a
// person.
func Status(l layout.Layout, now time.Time) string {
	s, err := ReadSettings(l)
	switch {
	case errors.Is(err, ErrNotConfigured):
		return "WARNING: no backup of this machine is configured. With its disk, the keys of all clusters are lost: run `machine backup configure`"
	case err != nil:
		return "WARNING: the machine is not backed up: " + err.Error()
	}
	r, err := ReadRecord(l)
	if err != nil {
		return "WARNING: " + err.Error()
	}
	text := fmt.Sprintf("there is no backup yet. It is made every %s to %s", s.Every, s.To)
	if !r.Time.IsZero() {
		text = fmt.Sprintf("the last backup is %s old: %s (every %s)", now.Sub(r.Time).Round(time.Minute), r.File, s.Every)
	}
	if late := r.Time.IsZero() && !r.Failed.IsZero() || !r.Time.IsZero() && now.Sub(r.Time) > 2*s.Interval(); late {
		text = "WARNING: " + text
	}
	if !r.Failed.IsZero() {
		text += fmt.Sprintf("\nWARNING: the backup of %s failed: %s", r.Failed.Local().Format(time.DateTime), r.Error)
	}
	if r.Copies != "" {
		text += "\nWARNING: not all Backups of clusters were copied: " + r.Copies
	}
	return text
}
