package facts

import (
	"bufio"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var pciIDs = flag.String("pci-ids", "", "path of a pci.ids file to compare the table with; the Debian package pci.ids has it")

func TestSRIOVTable(t *testing.T) {
	all := cards()
	if lines := strings.Count(sriovTable, "\n") - strings.Count(sriovTable, "#"); len(all) != lines || lines < 200 {
		t.Errorf("%d of %d lines are cards", len(all), lines)
	}
	if !slices.IsSortedFunc(all, func(a, b card) int { return strings.Compare(a.model, b.model) }) {
		t.Error("the table is not sorted")
	}
	virtual := regexp.MustCompile(`(?i)\bVF\b|virtual|partition|multi function`)
	for i, c := range all {
		if i > 0 && all[i-1].model == c.model {
			t.Errorf("%s is in the table twice", c.model)
		}
		if Model(c.model) != c.model {
			t.Errorf("%s is not a model", c.model)
		}
		if virtual.MatchString(c.name) {
			t.Errorf("%s is a virtual function or a part of a card: %s", c.model, c.name)
		}
	}
	if *pciIDs != "" {
		compareNames(t, all, *pciIDs)
	}
}

// compareNames compares the names in the table with a database of PCI ids. In this database, the
// line of a vendor begins with the vendor's id, and the line of a device begins with a tab.
func compareNames(t *testing.T, all []card, path string) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	names, vendor := map[string]string{}, ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		switch {
		case len(line) < 6 || line[0] == '#' || strings.HasPrefix(line, "\t\t"):
		case line[0] == '\t':
			names["0x"+vendor+" 0x"+line[1:5]] = strings.Join(strings.Fields(line[5:]), " ")
		default:
			vendor = line[:4]
		}
	}
	for _, c := range all {
		if names[c.model] != c.name {
			t.Errorf("%s is %q in the table and %q in %s", c.model, c.name, names[c.model], path)
		}
	}
}

func TestKnownSRIOV(t *testing.T) {
	for name, want := range map[string]bool{
		"0x8086 0x10fb": true,  // 82599ES, "X520"
		"0x8086 0x1572": true,  // X710
		"0x8086 0x158b": true,  // XXV710
		"0x8086 0x1592": true,  // E810-C
		"0x8086 0x1521": true,  // I350
		"0x15b3 0x1003": true,  // ConnectX-3
		"0x15b3 0x1021": true,  // ConnectX-7
		"0x14e4 0x16d7": true,  // BCM57414
		"0x1425 0x5401": true,  // T520-CR
		"0x1077 0x8070": true,  // QL41000
		"0x8086 0x10ed": false, // virtual functions: of 82599,
		"0x8086 0x1889": false, // of E810,
		"0x15b3 0x1018": false, // of ConnectX-5,
		"0x14e4 0x16dc": false, // of NetXtreme-E,
		"0x1425 0x5801": false, // of T520-CR
		"0x14e4 0x165f": false, // BCM5720, without SR-IOV
		"0x8086 0x1533": false, // I210, without SR-IOV
		"0x1af4 0x0001": false, // virtio
		"":              false,
	} {
		if got := knownSRIOV(name); got != want {
			t.Errorf("knownSRIOV(%q) = %t", name, got)
		}
	}
}

func TestModel(t *testing.T) {
	for text, want := range map[string]string{
		"0x8086 0x1572":          "0x8086 0x1572",
		"0X8086 0X158B":          "0x8086 0x158b",
		"8086:158B":              "0x8086 0x158b",
		"8086 158b":              "0x8086 0x158b",
		" 0x8086  0x158b ":       "0x8086 0x158b",
		"32902 5490":             "0x8086 0x1572",
		"5555 4119":              "0x5555 0x4119", // without a fifth digit, nothing shows that these ids are decimal
		"0x8086 0xd58":           "0x8086 0x0d58",
		"0x1572":                 "0x1572",
		"Virtio network device":  "Virtio network device",
		"Intel X710":             "Intel X710",
		"99999 99999":            "99999 99999",
		"0x8086 0x1572 rev 2":    "0x8086 0x1572 rev 2",
		"":                       "",
		"0x10000 0x1":            "0x10000 0x1",
		"12 34":                  "12 34",
		"\t0x15b3\t0x101D\n":     "0x15b3 0x101d",
		"0x15b3 0x101D [ConnX6]": "0x15b3 0x101D [ConnX6]",
	} {
		if got := Model(text); got != want {
			t.Errorf("Model(%q) = %q, want %q", text, got, want)
		}
	}
}
