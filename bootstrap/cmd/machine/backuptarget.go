package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/target"
)

// forms are the addresses of targets, for the texts of flags.
const forms = "a folder, s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION, or oci://REGISTRY/REPOSITORY"

// accessFlags name the files that a target on a server needs.
type accessFlags struct{ credentials, ca string }

func (f *accessFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.credentials, "credentials", "", "file that only root can read, with the credentials for S3 in the format of AWS, or for a registry in that of Docker's config.json")
	cmd.Flags().StringVar(&f.ca, "ca", "", "file with the CA certificates of the server, if the system does not trust it")
}

// access returns the files by their absolute paths.
func (f *accessFlags) access() (a target.Access, err error) {
	for _, file := range []struct {
		from string
		to   *string
	}{{f.credentials, &a.Credentials}, {f.ca, &a.CA}} {
		if file.from == "" {
			continue
		}
		if *file.to, err = filepath.Abs(file.from); err != nil {
			return a, err
		}
	}
	return a, nil
}

// addressFlags name a target.
type addressFlags struct {
	address string
	accessFlags
}

func (f *addressFlags) add(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.address, "to", "", usage)
	f.accessFlags.add(cmd)
}

// apply writes the flags that are given to the settings. Another target needs its own credentials: they are never sent to
// a server for which nobody has named them.
func (f *addressFlags) apply(s *backup.Settings) error {
	access, err := f.access()
	if err != nil {
		return err
	}
	if f.address != "" {
		s.To, s.Credentials, s.CA = f.address, "", ""
		if target.IsFolder(s.To) {
			if s.To, err = filepath.Abs(s.To); err != nil {
				return err
			}
		}
	}
	if access.Credentials != "" {
		s.Credentials = access.Credentials
	}
	if access.CA != "" {
		s.CA = access.CA
	}
	return nil
}

// list returns the target to be listed, and the machine whose backups are: empty for all machines.
func (f *addressFlags) list(l layout.Layout) (from target.Target, machine string, err error) {
	var s backup.Settings
	if f.address == "" {
		if s, err = backup.ReadSettings(l); err != nil {
			return nil, "", err
		}
		if machine, err = l.ID(); err != nil {
			return nil, "", err
		}
	}
	if err := f.apply(&s); err != nil {
		return nil, "", err
	}
	from, err = target.New(s.To, s.Access())
	return from, machine, err
}
