package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
)

// EnsureUsers creates the system users that do not exist yet, each with a group of the same name. They cannot log in.
func EnsureUsers(ctx context.Context, names []string) error {
	for _, name := range names {
		_, err := user.Lookup(name)
		if unknown := user.UnknownUserError(""); err != nil && !errors.As(err, &unknown) {
			return err
		}
		if err == nil {
			continue
		}
		if _, err := run(ctx, "", "useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", name); err != nil {
			return fmt.Errorf("create the user %s of a component: %w", name, err)
		}
	}
	return nil
}

// CheckReach returns an error if a user other than root cannot reach the folder, or a file in it.
func CheckReach(folder string) error {
	for ; ; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("only root can reach %[1]s (mode %#[2]o), but components run as users of their own: run `chmod o+x %[1]s`, or use another BPA_STATE", folder, info.Mode().Perm())
		}
		if folder == filepath.Dir(folder) {
			return nil
		}
	}
}
