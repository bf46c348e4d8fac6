package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func document(tables string) string {
	return "# Page\n\ntext\n" + Begin + "\n" + tables + End + "\n\nmore text\n"
}

func TestUpdate(t *testing.T) {
	whole := Figure{Table: "Run", Name: "install", Peer: "by hand", Value: 0.498, Goal: 0.5, Load: 3.6, Date: "2026-11-23"}
	seconds := Figure{Table: "Run", Name: "install", Value: 101.26, Unit: "s", Load: 3.6, Date: "2026-11-23"}
	slow := Figure{Table: "Depot", Name: "download", Peer: "nginx", Value: 1.004, Goal: 1, Load: 0.4, Date: "2026-11-24"}
	head := "| figure | divided by | value | goal | | load | date |\n| --- | --- | --- | --- | --- | --- | --- |\n"
	first := "\n### Run\n\n" + head +
		"| install | by hand | 0.50 | 0.50 | met | 4 | 2026-11-23 |\n" +
		"| install | - | 101.3 s | - |  | 4 | 2026-11-23 |\n\n"
	for name, c := range map[string]struct {
		tables  string
		figures []Figure
		want    string
	}{
		"nothing":                   {"", nil, ""},
		"first figures":             {"", []Figure{whole, seconds}, first},
		"no figure leaves all rows": {first, nil, first},
		"a figure replaces its row only": {first, []Figure{{Table: "Run", Name: "install", Peer: "by hand", Value: 0.61, Goal: 0.5, Load: 9, Date: "2026-11-25"}},
			strings.Replace(first, "| install | by hand | 0.50 | 0.50 | met | 4 | 2026-11-23 |", "| install | by hand | 0.61 | 0.50 | missed | 9 | 2026-11-25 |", 1)},
		"another table, missed by less than is shown": {first, []Figure{slow},
			strings.TrimSuffix(first, "\n") + "\n### Depot\n\n" + head + "| download | nginx | 1.00 | 1.00 | missed | 0 | 2026-11-24 |\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Update(document(c.tables), c.figures)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(document(c.want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestUpdateRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no marks":            "# Page\n",
		"no end":              "# Page\n" + Begin + "\n",
		"twice":               document("") + document(""),
		"text between":        document("Explanation.\n"),
		"a row without table": document("| install | - | 1.0 s | - |  | 4 | 2026-11-23 |\n"),
		"a short row":         document("### Run\n| install | - |\n"),
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Update(text, nil); err == nil {
				t.Errorf("got %q, want an error", got)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"no JSON":          "FAIL",
		"an unknown field": `{"table": "Run", "name": "install", "value": 1, "date": "2026-11-23", "gaol": 1}`,
		"no date":          `{"table": "Run", "name": "install", "value": 1}`,
		"a cell's end":     `{"table": "Run", "name": "install | 2", "value": 1, "date": "2026-11-23"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Parse([]byte(raw + "\n")); err == nil {
				t.Errorf("got %v, want an error", got)
			}
		})
	}
}

// TestRecord checks that figures are read as they were recorded, with load and date.
func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	t.Setenv(File, path)
	first, second := Figure{Table: "Run", Name: "install", Peer: "by hand", Value: 0.5, Goal: 0.5}, Figure{Table: "Run", Name: "install", Value: 90, Unit: "s"}
	Record(t, first)
	Record(t, second)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if len(got[i].Date) != len("2026-11-23") {
			t.Errorf("date %q of %v", got[i].Date, got[i])
		}
		got[i].Date, got[i].Load = "", 0
	}
	if diff := cmp.Diff([]Figure{first, second}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
