package software

import (
	"cmp"
	"strconv"
	"strings"

	"pault.ag/go/debian/version"

	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// CompareVersions compares two versions of a package: negative if a is older. The order is that of dpkg for
// deb and tar packages, and that of rpm for rpm packages. It is defined for all texts, also for those that
// dpkg and rpm refuse.
func CompareVersions(format protocol.PackageFormat, a, b string) int {
	if format == protocol.FormatRPM {
		return compareRPM(a, b)
	}
	return version.Compare(debian(a), debian(b))
}

// debian splits a version as dpkg does. version.Parse refuses versions that begin with a letter, which a
// tar package can have.
func debian(text string) (v version.Version) {
	if epoch, rest, found := strings.Cut(text, ":"); found {
		if n, err := strconv.ParseUint(epoch, 10, 31); err == nil {
			v.Epoch, text = uint(n), rest
		}
	}
	v.Version = text
	if dash := strings.LastIndex(text, "-"); dash >= 0 {
		v.Version, v.Revision = text[:dash], text[dash+1:]
	}
	return v
}

// compareRPM compares [EPOCH:]VERSION[-RELEASE]. A missing epoch is 0. Unlike in rpm, a missing release is
// older than any, because the order must be total to have a newest version.
func compareRPM(a, b string) int {
	epochA, versionA, releaseA := splitRPM(a)
	epochB, versionB, releaseB := splitRPM(b)
	return cmp.Or(compareParts(epochA, epochB), compareParts(versionA, versionB), compareParts(releaseA, releaseB))
}

func splitRPM(text string) (epoch, version, release string) {
	if before, after, found := strings.Cut(text, ":"); found && strings.Trim(before, "0123456789") == "" {
		epoch, text = before, after
	}
	if dash := strings.LastIndex(text, "-"); dash >= 0 {
		text, release = text[:dash], text[dash+1:]
	}
	return cmp.Or(strings.TrimLeft(epoch, "0"), "0"), text, release
}

// compareParts is rpm's comparison of two versions or releases (rpmvercmp): runs of digits and runs of
// letters are compared one after the other, and what separates them does not count. A tilde is older than
// the end of the text. A caret is newer than the end, and older than anything else.
func compareParts(a, b string) int {
	for a != "" || b != "" {
		a, b = strings.TrimLeftFunc(a, separates), strings.TrimLeftFunc(b, separates)
		headA, headB := rank(a), rank(b)
		switch {
		case headA != headB:
			return cmp.Compare(headA, headB)
		case headA == rankEnd:
			return 0
		case headA == rankTilde || headA == rankCaret:
			a, b = a[1:], b[1:]
			continue
		}
		kind := letter
		if headA == rankDigit {
			kind = digit
		}
		restA, restB := strings.TrimLeftFunc(a, kind), strings.TrimLeftFunc(b, kind)
		runA, runB := a[:len(a)-len(restA)], b[:len(b)-len(restB)]
		if headA == rankDigit {
			runA, runB = strings.TrimLeft(runA, "0"), strings.TrimLeft(runB, "0")
			if order := cmp.Compare(len(runA), len(runB)); order != 0 {
				return order
			}
		}
		if order := strings.Compare(runA, runB); order != 0 {
			return order
		}
		a, b = restA, restB
	}
	return 0
}

// The order of what a text begins with, if the texts begin differently.
const (
	rankTilde = iota
	rankEnd
	rankCaret
	rankLetter
	rankDigit
)

func rank(text string) int {
	switch {
	case text == "":
		return rankEnd
	case text[0] == '~':
		return rankTilde
	case text[0] == '^':
		return rankCaret
	case digit(rune(text[0])):
		return rankDigit
	}
	return rankLetter
}

func digit(r rune) bool     { return r >= '0' && r <= '9' }
func letter(r rune) bool    { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func separates(r rune) bool { return !digit(r) && !letter(r) && r != '~' && r != '^' }
