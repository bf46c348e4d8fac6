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

// message has the fields of a message of `govulncheck -format json` that this command reads.
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

// frame is an element of a trace. The first element names the vulnerable package, or only its
// module if nothing imports the package.
type frame struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	Package string `json:"package"`
}

// finding is a vulnerability of an imported package.
type finding struct {
	summary, module, version, fixed, pkg string
}

func (f finding) String() string {
	fix := "there is no fixed version"
	if f.fixed != "" {
		fix = "fixed in " + f.fixed
	}
	return fmt.Sprintf("%s %s: %s; imported package: %s; %s", f.module, f.version, f.summary, f.pkg, fix)
}

// read returns the vulnerabilities of imported packages by ID. It returns an error if the stream
// contains no configuration message, because govulncheck then failed.
func read(stream io.Reader) (map[string]finding, error) {
	summaries, found, configured := map[string]string{}, map[string]finding{}, false
	for decoder := json.NewDecoder(stream); ; {
		var m message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read output of govulncheck: %w", err)
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
		return nil, errors.New("the output of govulncheck contains no configuration: govulncheck failed")
	}
	return found, nil
}

// parseAccepted returns the vulnerabilities that are accepted in the module in folder, by ID. Each line of text has an
// ID, the folder of a module, the date of the decision (YYYY-MM-DD) and a reason. It ignores empty lines and lines that
// begin with #.
func parseAccepted(text, folder string) (map[string]string, error) {
	accepted := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 4)
		if len(fields) < 4 {
			return nil, fmt.Errorf("%q: want an ID, a folder, a date and a reason", line)
		}
		if _, err := time.Parse(time.DateOnly, fields[2]); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if fields[1] == folder {
			accepted[fields[0]] = "accepted on " + fields[2] + ": " + fields[3]
		}
	}
	return accepted, nil
}

// report returns the lines to print. It returns an error if a found vulnerability is not accepted,
// or an accepted one is not found.
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
		err = fmt.Errorf("%s: update the module to the fixed version, or add the ID with the folder, a date and a reason to hack/vulndb/accepted.txt", strings.Join(open, ", "))
	}
	if len(gone) > 0 {
		err = errors.Join(err, fmt.Errorf("%s: accepted but no longer found: remove the line from hack/vulndb/accepted.txt", strings.Join(gone, ", ")))
	}
	return lines, err
}
