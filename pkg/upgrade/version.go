package upgrade

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is the pattern of a version of Kubernetes, such as 1.35.4 or 1.36.0-rc.1. A version that matches
// has no character that a shell or a file system treats in a special way.
var Version = regexp.MustCompile(`^(0|[1-9][0-9]{0,3})(\.(0|[1-9][0-9]{0,3})){2}(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)

// version is a version such as 1.35.4 or 1.36.0-rc.1.
type version struct {
	major, minor, patch int
	pre                 string // the part after the dash
}

func parse(text string) (version, bool) {
	numbers, pre, _ := strings.Cut(strings.TrimPrefix(text, "v"), "-")
	parts := strings.Split(numbers, ".")
	if len(parts) != 3 {
		return version{}, false
	}
	v := version{pre: pre}
	for i, field := range []*int{&v.major, &v.minor, &v.patch} {
		number, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return version{}, false
		}
		*field = int(number)
	}
	return v, true
}

func (v version) String() string {
	text := fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch)
	if v.pre != "" {
		text += "-" + v.pre
	}
	return text
}

// line returns the minor version, such as 1.35.
func (v version) line() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// compare orders versions as Semantic Versioning does. A version before a release, such as 1.36.0-rc.1,
// is older than that release.
func compare(a, b version) int {
	return cmp.Or(cmp.Compare(a.major, b.major), cmp.Compare(a.minor, b.minor), cmp.Compare(a.patch, b.patch), comparePre(a.pre, b.pre))
}

func comparePre(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a)) // none is the newest
	}
	left, right := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(left), len(right)) {
		m, errM := strconv.Atoi(left[i])
		n, errN := strconv.Atoi(right[i])
		order := cmp.Compare(left[i], right[i])
		if errM == nil && errN == nil {
			order = cmp.Compare(m, n)
		} else if (errM == nil) != (errN == nil) { // a number is older than a word
			order = map[bool]int{true: -1, false: 1}[errM == nil]
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(len(left), len(right))
}

// Compare orders two versions. A text that is no version is older than all versions.
func Compare(a, b string) int {
	left, isLeft := parse(a)
	right, isRight := parse(b)
	switch {
	case isLeft && isRight:
		return compare(left, right)
	case isLeft:
		return 1
	case isRight:
		return -1
	}
	return 0
}

// SameMinor reports whether both are versions that differ at most in the patch.
func SameMinor(a, b string) bool {
	left, isLeft := parse(a)
	right, isRight := parse(b)
	return isLeft && isRight && left.line() == right.line()
}
