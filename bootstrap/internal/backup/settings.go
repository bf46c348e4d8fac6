package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/disk"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/target"
)

// Settings say how a machine is backed up.
type Settings struct {
	Recipient string `json:"recipient"` // the public key, in the notation of age
	To        string `json:"to"`        // the folder for the backups, or the address of another target
	Every     string `json:"every"`     // the interval of the schedule, as a Go duration
	Keep      int    `json:"keep"`      // how many backups of the schedule, and how many before an update, are kept
	// SameDisk permits a folder on the file system of the state folder. Otherwise such a folder is an error, because a
	// folder whose disk is not mounted looks like it.
	SameDisk bool `json:"sameDisk,omitempty"`
	// Backups says that the schedule copies the Backups of clusters too.
	Backups bool `json:"backups,omitempty"`
	// Credentials and CA are files, which the client of a target on a server reads.
	Credentials string `json:"credentials,omitempty"`
	CA          string `json:"ca,omitempty"`
}

// ErrNotConfigured reports that nobody has configured backups of the machine.
var ErrNotConfigured = errors.New("no backup of this machine is configured: run `machine backup configure`")

// ErrSameDisk reports that the folder for backups is on the disk of the state folder.
var ErrSameDisk = errors.New("it is on the same disk as the state folder, or its own disk is not mounted")

const shortest = time.Minute

// ReadSettings returns the settings of a machine, or ErrNotConfigured.
func ReadSettings(l layout.Layout) (Settings, error) {
	text, err := os.ReadFile(l.BackupSettings())
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, ErrNotConfigured
	}
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	if err := yaml.UnmarshalStrict(text, &s); err != nil {
		return Settings{}, fmt.Errorf("%s: %w: correct it, or write it again with `machine backup configure`", l.BackupSettings(), err)
	}
	if err := s.validate(); err != nil {
		return Settings{}, fmt.Errorf("%s: %w", l.BackupSettings(), err)
	}
	return s, nil
}

// Write stores the settings. It refuses settings with which no backup could be made now.
func (s Settings) Write(ctx context.Context, l layout.Layout) error {
	if err := s.validate(); err != nil {
		return err
	}
	if _, err := s.Target(ctx, l); err != nil {
		return err
	}
	text, err := yaml.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(l.BackupSettings()), 0o755); err != nil {
		return err
	}
	return disk.WriteFile(l.BackupSettings(), text, 0o644)
}

func (s Settings) validate() error {
	if _, err := recipient(s.Recipient); err != nil {
		return err
	}
	if err := target.Validate(s.To); err != nil {
		return err
	}
	for _, file := range []string{s.Credentials, s.CA} {
		if file != "" && !filepath.IsAbs(file) {
			return fmt.Errorf("the file %q for backups: name it by its absolute path", file)
		}
	}
	if target.IsFolder(s.To) && s.Access() != (target.Access{}) {
		return fmt.Errorf("a folder such as %s needs no credentials and no CA: leave them out", s.To)
	}
	if every, err := time.ParseDuration(s.Every); err != nil || every < shortest {
		return fmt.Errorf("the interval of backups is %q: use a duration of at least %s, such as 24h", s.Every, shortest)
	}
	if s.Keep < 1 {
		return fmt.Errorf("%d backups are to be kept: keep at least 1", s.Keep)
	}
	return nil
}

// Interval returns the interval of the schedule.
func (s Settings) Interval() time.Duration {
	every, _ := time.ParseDuration(s.Every) // validate has read it
	return every
}

// recipient returns the public key that text contains. A private key is refused without being repeated: it must not
// get into a log.
func recipient(text string) (age.Recipient, error) {
	if strings.HasPrefix(strings.ToUpper(strings.TrimSpace(text)), "AGE-SECRET-KEY-") {
		return nil, errors.New("this is a private key, and must not be on this machine: use its public key, which begins with age1")
	}
	r, err := age.ParseX25519Recipient(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("%q is not a public key of age, which begins with age1 (%w): `machine backup key FILE` makes a key", text, err)
	}
	return r, nil
}

// Access returns what the target needs, if it is on a server.
func (s Settings) Access() target.Access {
	return target.Access{Credentials: s.Credentials, CA: s.CA}
}

// Target returns the target for the backups, which answers.
func (s Settings) Target(ctx context.Context, l layout.Layout) (target.Target, error) {
	t, err := target.New(s.To, s.Access())
	if err != nil {
		return nil, err
	}
	if err := t.Check(ctx); err != nil {
		return nil, err
	}
	return t, s.CheckDisk(l)
}

// CheckDisk returns an error if the target is a folder that would be lost with the state folder.
func (s Settings) CheckDisk(l layout.Layout) error {
	if !target.IsFolder(s.To) {
		return nil
	}
	real, err := filepath.EvalSymlinks(s.To)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(l.Root, real); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("the folder %s is in the state folder %s, which it would be lost with: use a folder on another disk", s.To, l.Root)
	}
	if s.SameDisk {
		return nil
	}
	var to, root unix.Stat_t
	if err := errors.Join(unix.Stat(s.To, &to), unix.Stat(l.Root, &root)); err != nil {
		return err
	}
	if to.Dev == root.Dev {
		return fmt.Errorf("the folder %s for backups: %w: mount its disk. "+
			"To keep backups on this disk and copy them elsewhere by other means, run `machine backup configure --same-disk`", s.To, ErrSameDisk)
	}
	return nil
}
