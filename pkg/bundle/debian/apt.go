package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// apt runs apt-get with its own state in one folder.
type apt struct {
	dir     string
	request Request
	env     []string
}

// newApt prepares the folder. apt-get uses this machine's configuration, such as proxies,
// certificates and passwords. It does not use this machine's package state and does not run its
// hooks.
func newApt(dir string, w Request) (*apt, error) {
	if strings.ContainsAny(dir, " ,\"[]") {
		return nil, fmt.Errorf("apt cannot use the folder %q because of a character in its name: set TMPDIR to another folder", dir)
	}
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	// When root starts apt-get, apt-get fetches as the user _apt. This user must have access to the
	// folder.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	list, err := sourcesList(w, dir)
	if err != nil {
		return nil, err
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, errors.New("apt-get, which finds the packages, is not on this machine: use a Debian or Ubuntu machine, or a container of one, " +
			"or leave packages out with --without-packages")
	}
	a := &apt{dir: dir, request: w, env: append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")}
	return a, errors.Join(a.write("apt.conf", configuration(dir, w)), a.write("sources.list", list), a.write("status", ""))
}

func (a *apt) write(name, text string) error {
	return os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644)
}

// configuration returns the content of a configuration file. apt-get reads this file after the
// machine's own configuration, so the values in this file are used.
func configuration(dir string, w Request) string {
	text := fmt.Sprintf(`#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::Languages;
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::GzipIndexes "false";
Acquire::Languages {"none";};
Acquire::Retries "3";
APT::Architecture "%[1]s";
APT::Architectures {"%[1]s";};
APT::Get::AllowUnauthenticated "false";
APT::Get::Always-Include-Phased-Updates "true";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Update::Error-Mode "any";
Dir::Cache "%[2]s/";
Dir::Cache::archives "%[2]s/archives/";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
Dir::State "%[2]s/";
Dir::State::extended_states "%[2]s/extended_states";
Dir::State::lists "%[2]s/lists/";
Dir::State::status "%[2]s/status";
`, w.Architecture, dir)
	if len(w.Sources) > 0 {
		text += fmt.Sprintf(`Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourcelist "%s/sources.list";
Dir::Etc::sourceparts "/dev/null";
`, dir)
	}
	return text
}

// maxOutput is the maximum size of apt-get's output in bytes.
const maxOutput = 16 << 20

// run calls apt-get and returns its output. It reports the progress of downloads to progress, which
// may be nil.
func (a *apt) run(ctx context.Context, progress *progress, args ...string) (string, error) {
	status, statusWriter, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer status.Close()
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-c", filepath.Join(a.dir, "apt.conf"), "-q", "-o", "APT::Status-Fd=3"}, args...)...)
	cmd.Env, cmd.ExtraFiles = a.env, []*os.File{statusWriter}
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 5*time.Second
	var out, errOut bounded
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Start()
	statusWriter.Close()
	if err != nil {
		return "", err
	}
	var follower sync.WaitGroup
	follower.Go(func() { progress.follow(status) })
	err = cmd.Wait()
	status.Close()
	follower.Wait()
	if err != nil {
		return "", a.explain(ctx, args[0], out.String(), errOut.String(), err)
	}
	return out.String(), nil
}

// indexes returns the names of the files in which apt-get stores the lists of packages.
func (a *apt) indexes(ctx context.Context) ([]string, error) {
	out, err := a.run(ctx, nil, "indextargets", "--format", "$(FILENAME)", "Created-By: Packages")
	return strings.Fields(out), err
}

// eachPackage calls do for each package of all indexes.
func (a *apt) eachPackage(ctx context.Context, do func(fields map[string]string) error) error {
	files, err := a.indexes(ctx)
	if err != nil {
		return err
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		err = eachPackage(file, do)
		file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

// bounded is a buffer of at most maxOutput bytes.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("the output of apt-get has more than %d bytes", maxOutput)
	}
	return b.Buffer.Write(p)
}
