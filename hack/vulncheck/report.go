package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// message is one of those that govulncheck writes with -format json, as far as it matters here.
type message struct {
	Config *struct {
		DB             string    `json:"db"`
		DBLastModified time.Time `json:"db_last_modified"`
	} `json:"config"`
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV          string  `json:"osv"`
		FixedVersion string  `json:"fixed_version"`
		Trace        []frame `json:"trace"`
	} `json:"finding"`
}

// frame is the vulnerable package, or only its module if nothing imports the package.
type frame struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	Package string `json:"package"`
}

// finding is a vulnerability of a package that is imported.
type finding struct {
	summary, module, version, fixed, pkg string
}

func (f finding) String() string {
	fix := "no fix is known"
	if f.fixed != "" {
		fix = "fixed in " + f.fixed
	}
	return fmt.Sprintf("%s %s: %s; imported is %s; %s", f.module, f.version, f.summary, f.pkg, fix)
}

// read gives the vulnerabilities of imported packages, by ID. A stream without a configuration is not govulncheck's, or it failed.
func read(stream io.Reader) (map[string]finding, error) {
	summaries, found, configured := map[string]string{}, map[string]finding{}, false
	for decoder := json.NewDecoder(stream); ; {
		var m message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what govulncheck says: %w", err)
		}
		configured = configured || m.Config != nil
		if m.OSV != nil {
			summaries[m.OSV.ID] = m.OSV.Summary
		}
		if f := m.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Package != "" {
			at := f.Trace[0]
			found[f.OSV] = finding{summaries[f.OSV], at.Module, at.Version, f.FixedVersion, at.Package}
		}
	}
	if !configured {
		return nil, errors.New("govulncheck said nothing: did it fail?")
	}
	return found, nil
}

// parseAccepted reads lines of an ID, the date of the decision (YYYY-MM-DD) and a reason. Empty lines and those that begin
// with # do not count.
func parseAccepted(text string) (map[string]string, error) {
	accepted := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%q: want an ID, a date and a reason", line)
		}
		if _, err := time.Parse(time.DateOnly, fields[1]); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		accepted[fields[0]] = "accepted on " + fields[1] + ": " + fields[2]
	}
	return accepted, nil
}

// report gives a line for each vulnerability. It is an error that one is not accepted, or that an accepted one is gone.
func report(found map[string]finding, accepted map[string]string) (lines []string, err error) {
	var open, gone []string
	for _, id := range slices.Sorted(maps.Keys(found)) {
		lines = append(lines, id+" "+found[id].String())
		if reason, ok := accepted[id]; ok {
			lines = append(lines, "  "+reason)
			continue
		}
		open = append(open, id)
	}
	for _, id := range slices.Sorted(maps.Keys(accepted)) {
		if _, there := found[id]; !there {
			gone = append(gone, id)
		}
	}
	lines = append(lines, fmt.Sprintf("%d vulnerabilities in imported packages, %d of them accepted", len(found), len(found)-len(open)))
	if len(open) > 0 {
		err = fmt.Errorf("%s: raise the module to the fixed version, or add the ID with a date and a reason to the accepted ones", strings.Join(open, ", "))
	}
	if len(gone) > 0 {
		err = errors.Join(err, fmt.Errorf("%s: accepted but not found any more; remove its line", strings.Join(gone, ", ")))
	}
	return lines, err
}
