package digest

import "strings"

// IsSHA256 reports whether s is a SHA-256 in hexadecimal: 64 digits in lower case, without a prefix.
func IsSHA256(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }
