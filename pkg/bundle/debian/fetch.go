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

// Request says which packages are wanted, for which nodes, from where.
type Request struct {
	System       string // ID-VERSION_ID of the nodes' os-release
	Architecture string // Debian's name, such as arm64
	Packages     []artifacts.Package
	// Sources are lines of a sources.list(5). None: those of this machine, which then has to run the same system.
	Sources []string
	// Keyring is a file with the keys that sign the sources; empty: those of the distribution that are on this machine.
	Keyring string
	// WithBase takes everything that they depend on, also what every installation of the system has.
	WithBase bool
	Log      io.Writer
}

// Deb is a package on this machine's disk.
type Deb struct {
	artifacts.File
	Disk string
}

// ErrNoSources: nobody said where the packages of another system than this machine's come from.
var ErrNoSources = errors.New("--apt-source is missing")

// Fetch finds the packages and what they depend on, and fetches them into a folder of which nothing else uses anything. Their files are the
// caller's to remove. Only what a minimal installation of the system has is left out, unless somebody needs a newer version of it.
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
			fmt.Fprintf(w.Log, "nobody verifies packages of %q: it says trusted=yes\n", line)
		}
	}
	fmt.Fprintf(w.Log, "packages for %s %s: reading the lists of the sources\n", w.System, w.Architecture)
	if _, err := a.run(ctx, newProgress(w.Log, 0), "update"); err != nil {
		return nil, err
	}
	essential, err := a.survey(ctx)
	if err != nil {
		return nil, err
	}
	if !w.WithBase {
		if err := a.pretend(ctx, essential); err != nil {
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
		return fmt.Errorf("%w: this machine runs %s, so it cannot know where the packages of %s are: name the source, such as %q",
			ErrNoSources, cmp.Or(here, "no system that says its name"), w.System, sourceExample)
	}
	versions := map[string]string{}
	for _, p := range w.Packages {
		if before := versions[p.Name]; before != "" && p.Version != "" && before != p.Version {
			return fmt.Errorf("package %s is wanted as %s and as %s: make a bundle of each", p.Name, before, p.Version)
		}
		versions[p.Name] = cmp.Or(p.Version, versions[p.Name])
	}
	return nil
}

// arguments names the packages as apt-get wants them.
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

// survey looks for the wanted names, which apt-get would else take for patterns and more, and for what every installation has.
func (a *apt) survey(ctx context.Context) (essential []string, err error) {
	unknown := map[string]bool{}
	for _, p := range a.wish.Packages {
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
		return nil, fmt.Errorf("the sources of %s %s have no package %s: add one that has it with --apt-source, or take it off the list",
			a.wish.System, a.wish.Architecture, strings.Join(names, ", "))
	}
	slices.Sort(essential)
	return slices.Compact(essential), nil
}

// pretend makes apt's status that of a minimal installation. What that is, apt-get says by what it would install into an empty system.
func (a *apt) pretend(ctx context.Context, essential []string) error {
	if len(essential) == 0 {
		return nil
	}
	plan, err := a.run(ctx, nil, append([]string{"install", "-s", "-y", "--"}, essential...)...)
	if err != nil {
		return fmt.Errorf("find out what a minimal installation has (--with-base takes everything): %w", err)
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
	install := append([]string{"install", "-y", "--"}, a.wish.arguments()...)
	plan, err := a.run(ctx, nil, slices.Insert(slices.Clone(install), 1, "--print-uris")...)
	if err != nil {
		return nil, err
	}
	files, bytes := downloads(plan)
	fmt.Fprintf(a.wish.Log, "packages for %s %s: %d wanted, %d with what they depend on, %s\n",
		a.wish.System, a.wish.Architecture, len(a.wish.Packages), len(files), transfer.Bytes(bytes))
	if _, err := a.run(ctx, newProgress(a.wish.Log, bytes), slices.Insert(install, 1, "--download-only")...); err != nil {
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

// downloads are the names of files that apt-get would fetch, and how many bytes that is.
func downloads(plan string) (files []string, bytes int64) {
	for _, m := range download.FindAllStringSubmatch(plan, -1) {
		size, _ := strconv.ParseInt(m[2], 10, 64) // digits; of nonsense only the sum is wrong
		files, bytes = append(files, m[1]), bytes+size
	}
	return files, bytes
}

// deb tells of a package that apt-get has fetched, and verified.
func (a *apt) deb(name string) (Deb, error) {
	disk := filepath.Join(a.dir, "archives", name)
	file, err := os.Open(disk)
	if errors.Is(err, os.ErrNotExist) {
		return Deb{}, fmt.Errorf("apt-get has not fetched %s: write copy: instead of file: for a source on this machine's disk", name)
	}
	if err != nil {
		return Deb{}, err
	}
	defer file.Close()
	at, err := PathOf(a.wish.System, name)
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
