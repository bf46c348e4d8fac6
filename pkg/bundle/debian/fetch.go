package debian

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// Request names the packages to fetch, the nodes that they are for, and the sources.
type Request struct {
	System       string // ID-VERSION_ID of the nodes' os-release
	Architecture string // Debian's name, such as arm64
	Packages     []artifacts.Package
	// Sources holds lines of a sources.list(5). Without lines, this machine's sources are used, and
	// this machine must run the same operating system as the nodes.
	Sources []string
	// Keyring is a file with the keys that sign the sources; empty: the distribution's keys on this
	// machine.
	Keyring string
	// WithBase includes dependencies that every installation of the system has.
	WithBase bool
	// Log receives the progress; nil: no log.
	Log io.Writer
}

// Deb is a package on this machine's disk.
type Deb struct {
	artifacts.File
	Disk string
}

// ErrNoSources is wrapped by the error of a Request that has no Sources and is for an operating
// system other than this machine's.
var ErrNoSources = errors.New("--apt-source is missing")

// Fetch finds the packages and their dependencies, and fetches them into the folder dir. Nothing
// else may use this folder, and the caller removes it. Fetch omits packages that every minimal
// installation of the system has. It includes such a package if another package needs a newer
// version of it, or if w.WithBase is set.
func Fetch(ctx context.Context, dir string, w Request) ([]Deb, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	a, err := newApt(dir, w)
	if err != nil {
		return nil, err
	}
	for _, line := range w.Sources {
		if strings.Contains(line, "trusted=yes") {
			fmt.Fprintf(w.Log, "warning: packages of %q are not verified, because the line has trusted=yes\n", line)
		}
	}
	fmt.Fprintf(w.Log, "packages for %s %s: reading the package lists of the sources\n", w.System, w.Architecture)
	if _, err := a.run(ctx, newProgress(w.Log, 0), "update"); err != nil {
		return nil, err
	}
	essential, err := a.survey(ctx)
	if err != nil {
		return nil, err
	}
	if !w.WithBase {
		if err := a.assumeBase(ctx, essential); err != nil {
			return nil, err
		}
	}
	return a.fetch(ctx)
}

func (w *Request) check() error {
	if err := CheckSystem(w.System); err != nil {
		return err
	}
	if w.Log == nil {
		w.Log = io.Discard
	}
	if here := ThisSystem(); len(w.Sources) == 0 && w.System != here {
		return fmt.Errorf("%w: this machine runs %s and has no sources for packages of %s: name the source, such as %q",
			ErrNoSources, cmp.Or(here, "an unknown system"), w.System, sourceExample)
	}
	versions := map[string]string{}
	for _, p := range w.Packages {
		if before := versions[p.Name]; before != "" && p.Version != "" && before != p.Version {
			return fmt.Errorf("package %s is listed in the versions %s and %s: make a bundle for each version", p.Name, before, p.Version)
		}
		versions[p.Name] = cmp.Or(p.Version, versions[p.Name])
	}
	return nil
}

// arguments returns the packages as arguments of apt-get.
func (w Request) arguments() (names []string) {
	for _, p := range w.Packages {
		name := p.Name
		if p.Version != "" {
			name += "=" + p.Version
		}
		names = append(names, name)
	}
	return names
}

// survey returns the names of the packages that every installation has. It returns an error if the
// sources lack a requested name, because apt-get would use such a name as a pattern for other
// packages.
func (a *apt) survey(ctx context.Context) (essential []string, err error) {
	unknown := map[string]bool{}
	for _, p := range a.request.Packages {
		unknown[p.Name] = true
	}
	err = a.eachPackage(ctx, func(fields map[string]string) error {
		if isEssential(fields) {
			essential = append(essential, fields["Package"])
		}
		delete(unknown, fields["Package"])
		for _, name := range provided(fields) {
			delete(unknown, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		var names []string
		for name := range unknown {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("the sources of %s %s have no package %s: add a source that has it with --apt-source, or remove it from the list",
			a.request.System, a.request.Architecture, strings.Join(names, ", "))
	}
	slices.Sort(essential)
	return slices.Compact(essential), nil
}

// assumeBase writes a status file with the packages of a minimal installation, so that apt-get does
// not fetch them. A minimal installation has the essential packages and the packages that apt-get
// would install with them into an empty system.
func (a *apt) assumeBase(ctx context.Context, essential []string) error {
	if len(essential) == 0 {
		return nil
	}
	plan, err := a.run(ctx, nil, append([]string{"install", "-s", "-y", "--"}, essential...)...)
	if err != nil {
		return fmt.Errorf("find the packages of a minimal installation (--with-base includes them and skips this step): %w", err)
	}
	base, names := baseline{}, plannedNames(plan)
	err = a.eachPackage(ctx, func(fields map[string]string) error {
		if !slices.Contains(names, fields["Package"]) {
			return nil
		}
		return base.add(fields)
	})
	if err != nil {
		return err
	}
	return a.write("status", base.status())
}

func (a *apt) fetch(ctx context.Context) ([]Deb, error) {
	install := append([]string{"install", "-y", "--"}, a.request.arguments()...)
	plan, err := a.run(ctx, nil, slices.Insert(slices.Clone(install), 1, "--print-uris")...)
	if err != nil {
		return nil, err
	}
	files, bytes := downloads(plan)
	fmt.Fprintf(a.request.Log, "packages for %s %s: %d requested, %d with dependencies, %s\n",
		a.request.System, a.request.Architecture, len(a.request.Packages), len(files), transfer.Bytes(bytes))
	if _, err := a.run(ctx, newProgress(a.request.Log, bytes), slices.Insert(install, 1, "--download-only")...); err != nil {
		return nil, err
	}
	var debs []Deb
	for _, name := range files {
		deb, err := a.deb(name)
		if err != nil {
			return nil, err
		}
		debs = append(debs, deb)
	}
	return debs, nil
}

var download = regexp.MustCompile(`(?m)^'[^']*' ([^ /]+\.deb) ([0-9]+) `)

// downloads returns the names of the files that apt-get would fetch, and their total size in bytes.
func downloads(plan string) (files []string, bytes int64) {
	for _, m := range download.FindAllStringSubmatch(plan, -1) {
		size, _ := strconv.ParseInt(m[2], 10, 64) // The pattern allows only digits, so the only error is an overflow. Then only the sum is wrong.
		files, bytes = append(files, m[1]), bytes+size
	}
	return files, bytes
}

// deb describes a package that apt-get has fetched and verified.
func (a *apt) deb(name string) (Deb, error) {
	disk := filepath.Join(a.dir, "archives", name)
	file, err := os.Open(disk)
	if errors.Is(err, os.ErrNotExist) {
		return Deb{}, fmt.Errorf("apt-get did not fetch %s: for a source on this machine's disk, write \"copy:\" instead of \"file:\" in its line", name)
	}
	if err != nil {
		return Deb{}, err
	}
	defer file.Close()
	at, err := PathOf(a.request.System, name)
	if err != nil {
		return Deb{}, err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return Deb{}, fmt.Errorf("read %s: %w", disk, err)
	}
	return Deb{File: artifacts.File{Path: at, SHA256: hex.EncodeToString(sum.Sum(nil)), Size: size}, Disk: disk}, nil
}
