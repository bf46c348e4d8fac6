package software

import (
	"slices"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// TestCompareDebianVersions has the order of dpkg, from deb-version(7) and from its own tests.
func TestCompareDebianVersions(t *testing.T) {
	for _, ordered := range [][]string{
		{"1.0~~", "1.0~~a", "1.0~", "1.0", "1.0a"},
		{"0.9", "1.0~rc1", "1.0~rc1-1", "1.0", "1.0-1", "1.0-1+b1", "1.0-2", "1.0-10", "1.0+dfsg", "1.0.1", "1:0.1"},
		{"8.5.0-2", "8.10.0-1", "8.10.0-1ubuntu0.1"},
		{"a", "b1", "b2", "b10"}, // dpkg refuses these, and a tar package can have them
		{"1.5", "x:1"},
	} {
		expectOrder(t, protocol.FormatDeb, ordered)
		expectOrder(t, protocol.FormatTar, ordered)
	}
	for a, b := range map[string]string{"1.0": "0:1.0", "1.00": "1.0", "1.0-0": "1.0", "2.01": "2.1"} {
		if got := CompareVersions(protocol.FormatDeb, a, b); got != 0 {
			t.Errorf("%s and %s: %d, want 0", a, b, got)
		}
	}
}

// TestCompareRPMVersions has the published cases of rpm (tests/rpmvercmp.at, and "Epoch, version, release" of
// its manual).
func TestCompareRPMVersions(t *testing.T) {
	for _, ordered := range [][]string{
		{"1.0", "2.0", "2.0.1"}, {"2.0.1", "2.0.1a"}, {"5.5p1", "5.5p2", "5.5p10"}, {"10xyz", "10.1xyz"}, {"xyz10", "xyz10.1"},
		{"xyz.4", "8", "8.1"}, {"xyz.4", "2"}, {"5.5p2", "5.6p1"}, {"5.6p1", "6.5p1"}, {"6.0", "6.0.rc1"}, {"10a2", "10b2"},
		{"a", "1.0aa"}, {"10.0001", "10.0039"}, {"4.999.9", "5.0"}, {"20101121", "20101122"},
		{"1.0~rc1", "1.0~rc1_1", "1.0~rc2", "1.0", "1.0arc1"}, {"1.0~rc1~git123", "1.0~rc1", "1.0"},
		{"1.0", "1.0^", "1.0^git1", "1.0^git2", "1.0.1"}, {"1.0", "1.0^git1", "1.01"}, {"1.0^20160101", "1.0^20160102"},
		{"1.0^20160101", "1.0.1"}, {"1.0^20160101^git1", "1.0^20160102"}, {"1.0~rc1", "1.0~rc1^git1", "1.0"},
		{"1.0^git1~pre", "1.0^git1"}, {"1.0", "1.0^git1~pre"}, {"1.0-1", "1.0-2", "1.0-10"}, {"2.0-9", "1:1.0-1", "2:0.1-1"}, {"1.0", "1.0-1"},
	} {
		expectOrder(t, protocol.FormatRPM, ordered)
	}
	for a, b := range map[string]string{"1.0": "1.0.", "2_0": "2.0", "2a": "2.a", "1.05": "1.5", "fc4": "fc.4", "3.0.0_fc": "3.0.0.fc", "1+": "1_", "a+": "a_", "+": "_",
		"0:1.0-1": "1.0-1", "00:1": "1", "10.0001": "10.1", "1b.fc17": "1b.fc.17"} {
		if x, y := CompareVersions(protocol.FormatRPM, a, b), CompareVersions(protocol.FormatRPM, b, a); x != 0 || y != 0 {
			t.Errorf("%s and %s: %d and %d, want 0", a, b, x, y)
		}
	}
}

// expectOrder compares each version with each other.
func expectOrder(t *testing.T, format protocol.PackageFormat, ordered []string) {
	t.Helper()
	for i, a := range ordered {
		for j, b := range ordered {
			got := CompareVersions(format, a, b)
			if got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s: %s and %s: %d", format, a, b, got)
			}
		}
	}
}

// FuzzCompareVersions checks that both orders are orders, whatever a package calls itself.
func FuzzCompareVersions(f *testing.F) {
	f.Add("1:1.0~rc1-1", "1.0^git1", "x+")
	f.Add("99999999999999999999:1", "1:0", "0001")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, format := range []protocol.PackageFormat{protocol.FormatDeb, protocol.FormatRPM} {
			compare := func(a, b string) int { return CompareVersions(format, a, b) }
			if (compare(a, b) < 0) != (compare(b, a) > 0) || compare(a, a) != 0 {
				t.Errorf("%s: %q and %q: %d and %d", format, a, b, compare(a, b), compare(b, a))
			}
			sorted := []string{a, b, c}
			slices.SortFunc(sorted, compare)
			if compare(sorted[0], sorted[2]) > 0 {
				t.Errorf("%s: no order of %q, %q, %q", format, a, b, c)
			}
		}
	})
}
