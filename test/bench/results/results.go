package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Figure is one measured figure.
type Figure struct {
	Table string `json:"table"` // heading of the table, such as "Installation, 2 nodes"
	Name  string `json:"name"`  // what was measured
	// Peer is what Value is divided by. Empty: Value is no ratio.
	Peer  string  `json:"peer,omitempty"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"` // such as "s"; empty for a ratio
	// Goal is the largest value that meets the goal. 0: there is no goal.
	Goal float64 `json:"goal,omitempty"`
	Load float64 `json:"load"` // load average of the last minute at the end of the measurement
	Date string  `json:"date"` // such as 2026-11-23, in UTC
}

// Parse reads figures, one JSON object per line.
func Parse(raw []byte) ([]Figure, error) {
	var all []Figure
	for n, line := range bytes.Split(raw, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var f Figure
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&f); err != nil {
			return nil, fmt.Errorf("line %d of the results: %w", n+1, err)
		}
		if f.Table == "" || f.Name == "" || f.Date == "" || strings.ContainsAny(f.Table+f.Name+f.Peer+f.Unit+f.Date, "|\n") {
			return nil, fmt.Errorf("line %d of the results: table, name and date must be set, and no text may contain | or a line end: %s", n+1, line)
		}
		all = append(all, f)
	}
	return all, nil
}

// String returns the figure as a line for a log.
func (f Figure) String() string {
	line := f.Table + ": " + f.Name
	if f.Peer != "" {
		line += " : " + f.Peer
	}
	line += " = " + f.amount(f.Value)
	if f.Goal != 0 {
		line += " (goal " + f.amount(f.Goal) + ", " + f.verdict() + ")"
	}
	return line
}

// row returns the figure as a row of its table.
func (f Figure) row() string {
	goal := "-"
	if f.Goal != 0 {
		goal = f.amount(f.Goal)
	}
	cells := []string{f.Name, orDash(f.Peer), f.amount(f.Value), goal, f.verdict(), strconv.FormatFloat(f.Load, 'f', 0, 64), f.Date}
	return "| " + strings.Join(cells, " | ") + " |"
}

func (f Figure) amount(value float64) string {
	if f.Unit == "" {
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + f.Unit
}

// verdict compares the values as they are, not as they are printed.
func (f Figure) verdict() string {
	switch {
	case f.Goal == 0:
		return ""
	case f.Value <= f.Goal:
		return "met"
	default:
		return "missed"
	}
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
