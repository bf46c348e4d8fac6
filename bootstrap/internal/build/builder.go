package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Builder builds targets from a source tree into a folder.
type Builder struct {
	Source string              // folder of the bootstrap module
	Bin    string              // folder for the programs
	Stamp  func(string) string // path of the stamp file of the target with this name
	Log    io.Writer           // receives the output of the go command
	// Progress counts compiled packages; nil means that they are not counted.
	Progress *Progress
}

// FindSource returns the folder of the bootstrap module. The search starts at the folder in
// BPA_SOURCE, or at dir if that variable is not set, and continues in the parent folders. In each
// folder it checks the folder itself and its subfolder bootstrap.
func FindSource(dir string) (string, error) {
	if named := os.Getenv("BPA_SOURCE"); named != "" {
		dir = named
	}
	for at := dir; ; at = filepath.Dir(at) {
		for _, candidate := range []string{at, filepath.Join(at, "bootstrap")} {
			if _, err := os.Stat(filepath.Join(candidate, "modules", "kube", "go.mod")); err == nil {
				return candidate, nil
			}
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no source of the bootstrap module at or above %s: run this command inside a checkout, or set BPA_SOURCE to one", dir)
		}
	}
}

// Ensure builds the target if it is not up to date, and reports whether a program changed.
func (b Builder) Ensure(ctx context.Context, t Target) (built bool, err error) {
	key, err := b.key(t)
	if err != nil {
		return false, err
	}
	if !t.Local && b.upToDate(t, key) {
		return false, nil
	}
	if err := os.MkdirAll(b.Bin, 0o755); err != nil {
		return false, err
	}
	before := b.times(t)
	if err := b.compile(ctx, t); err != nil {
		return false, err
	}
	if err := b.link(t); err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(b.Stamp(t.Name)), 0o755); err != nil {
		return false, err
	}
	return before != b.times(t), os.WriteFile(b.Stamp(t.Name), []byte(key+"\n"), 0o644)
}

// compile builds the target. The programs contain neither local paths nor the commit, so that the
// same source gives the same program. compile builds into a temporary folder and then moves only
// programs whose content changed into Bin. There are two reasons: a running program cannot be
// overwritten, and a new modification time would make the supervisor restart the program.
func (b Builder) compile(ctx context.Context, t Target) error {
	fresh, err := os.MkdirTemp(b.Bin, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	linked := b.linkPresent(t, fresh)
	flags := t.flags()
	args := append([]string{"build", "-v", "-ldflags", t.LDFlags, "-o", fresh + "/"}, flags...)
	cmd := command(ctx, append(args, t.Packages...)...)
	cmd.Dir = filepath.Join(b.Source, t.Module)
	output, err := b.runCounted(ctx, cmd, t)
	if err := errors.Join(err, linked.restore()); err != nil {
		return fmt.Errorf("build %s: %w: %s", t.Name, err, tail(output, 2000))
	}
	for _, name := range t.programs() {
		if err := replace(filepath.Join(fresh, name), filepath.Join(b.Bin, name)); err != nil {
			return fmt.Errorf("install %s: %w", name, err)
		}
	}
	return nil
}

// Compile compiles the packages of a target, and all packages that they import, into Go's build
// cache. It links nothing.
func (b Builder) Compile(ctx context.Context, t Target) error {
	args := append([]string{"list", "-export", "-deps", "-v", "-f", ""}, t.flags()...)
	cmd := command(ctx, append(args, t.Packages...)...)
	cmd.Dir = filepath.Join(b.Source, t.Module)
	if output, err := b.runCounted(ctx, cmd, t); err != nil {
		return fmt.Errorf("compile %s: %w: %s", t.Name, err, tail(output, 2000))
	}
	return nil
}

// runCounted runs a go command that compiles the target. It counts the compiled packages in
// b.Progress and returns the command's standard error.
func (b Builder) runCounted(ctx context.Context, cmd *exec.Cmd, t Target) (string, error) {
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = b.Log, io.MultiWriter(b.Log, &output)
	if b.Progress != nil {
		cmd.Stderr = io.MultiWriter(b.Log, &output, b.Progress)
		counting, stop := context.WithCancel(ctx)
		defer stop()
		go b.Progress.countAfter(counting, 5*time.Second, cmd.Dir, t.flags(), t.Packages)
	}
	err := cmd.Run()
	return output.String(), err
}

// modTimes holds modification times by path.
type modTimes map[string]time.Time

// linkPresent fills the folder fresh with hard links to the programs that exist in Bin. Go builds
// into fresh, and does not link a program again if fresh contains an up-to-date file of it. Go
// removes an outdated file before it writes the new one, so the program in Bin does not change. But
// Go sets the modification time of an up-to-date file, and this also changes the time of the
// program in Bin, because both are the same file. Therefore linkPresent returns the modification
// times of the programs in Bin, and restore sets them again.
func (b Builder) linkPresent(t Target, fresh string) modTimes {
	times := modTimes{}
	for _, name := range t.programs() {
		at := filepath.Join(b.Bin, name)
		if info, err := os.Stat(at); err == nil && os.Link(at, filepath.Join(fresh, name)) == nil {
			times[at] = info.ModTime()
		}
	}
	return times
}

func (m modTimes) restore() error {
	for path, at := range m {
		if err := os.Chtimes(path, at, at); err != nil {
			return err
		}
	}
	return nil
}

// flags returns the flags that select what Go compiles. They must be the same for all targets,
// because Go would otherwise compile shared packages again.
func (t Target) flags() []string {
	flags := []string{"-trimpath", "-buildvcs=false"}
	if t.Tags != "" {
		flags = append(flags, "-tags="+t.Tags)
	}
	return flags
}

// command returns a go command. It sets GOGC for the compiler, whose processes are short-lived:
// with fewer garbage collections, large packages take a quarter less time but more memory.
func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOGC=400")
	return cmd
}

func (b Builder) link(t Target) error {
	for _, name := range t.Links {
		at := filepath.Join(b.Bin, name)
		if to, err := os.Readlink(at); err == nil && to == t.programs()[0] {
			continue
		}
		_ = os.Remove(at)
		if err := os.Symlink(t.programs()[0], at); err != nil {
			return err
		}
	}
	return nil
}

func (t Target) programs() []string {
	var names []string
	for _, p := range t.Packages {
		names = append(names, path.Base(p))
	}
	return names
}

func (b Builder) upToDate(t Target, key string) bool {
	stamp, err := os.ReadFile(b.Stamp(t.Name))
	if err != nil || strings.TrimSpace(string(stamp)) != key {
		return false
	}
	for _, name := range append(t.programs(), t.Links...) {
		if _, err := os.Stat(filepath.Join(b.Bin, name)); err != nil {
			return false
		}
	}
	return true
}

// times returns the names and modification times of the target's programs as text. The text changes
// when a program is replaced.
func (b Builder) times(t Target) string {
	var all strings.Builder
	for _, name := range t.programs() {
		if info, err := os.Stat(filepath.Join(b.Bin, name)); err == nil {
			fmt.Fprintln(&all, name, info.ModTime().UnixNano())
		}
	}
	return all.String()
}

// key returns the hash of a target's inputs: Go's version, the flags and the files of the module.
// The module's go.sum covers its dependencies. For a Local target the hash does not cover the
// files, because the go command runs each time.
func (b Builder) key(t Target) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOARCH, t.Name, t.LDFlags, t.Tags, t.Packages, t.Links)
	if t.Local {
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	dir := filepath.Join(b.Source, t.Module)
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		fmt.Fprintf(h, "%s %x\n", strings.TrimPrefix(file, dir), sha256.Sum256(content))
		return err
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

func replace(fresh, final string) error {
	same, err := sameContent(fresh, final)
	if err != nil || same {
		return err
	}
	return os.Rename(fresh, final)
}

func sameContent(a, b string) (bool, error) {
	if left, err := os.Stat(a); err == nil {
		if right, err := os.Stat(b); err == nil && os.SameFile(left, right) {
			return true, nil
		}
	}
	first, err := hashFile(a)
	if err != nil {
		return false, err
	}
	second, err := hashFile(b)
	if os.IsNotExist(err) {
		return false, nil
	}
	return first == second, err
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	_, err = io.Copy(h, file)
	return string(h.Sum(nil)), err
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		return "… " + s[len(s)-n:]
	}
	return s
}
