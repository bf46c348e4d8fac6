package ansible

import (
	"encoding/base64"
	"regexp"
	"strings"
)

const hidden = "[hidden]"

// Ends of the names of values that are secret.
const (
	secretKeys  = `secret[_-]?(?:access[_-]?)?key|api[_-]?key`
	secretNames = `password|passwd|passphrase|token|secret|certificate[_-]key|client-key-data|` + secretKeys
)

var (
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`)
	// encodedPEM matches base64 text whose decoded form begins with "-----BEGIN ". Kubeconfigs hold
	// keys and certificates in this form.
	encodedPEM = regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/=]*`)
	bearer     = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`)
	webToken   = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)
	kubeadm    = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)
	userinfo   = regexp.MustCompile(`(://[^/\s:@]*):[^/\s@]+@`)
	assignment = regexp.MustCompile(`(?i)\b((?:[a-z0-9]+[_-])*(?:` + secretNames + `)|(?:[a-z0-9]+[_-])+pass)(\\?["']?\s*=\s*\\?["']?)[^\s"'\\,;&]+`)
	keyValue   = regexp.MustCompile(`(?i)((?:` + secretNames + `|[_-]pass)\\?["']\s*:\s*\\?["'])[^"'\\]+`)
	yamlValue  = regexp.MustCompile(`(?i)\b((?:(?:[a-z0-9]+[_-])*(?:password|passwd|passphrase|client-key-data|` + secretKeys + `)|(?:[a-z0-9]+[_-])+pass)\s*:\s+)[^\s"'{\[][^\s]*`)
	// yamlToken matches a token on a line of its own. In a sentence, "token:" is followed by a reason.
	yamlToken = regexp.MustCompile(`(?im)^(\s*(?:- )?(?:[a-z0-9]+[_-])*token\s*:\s+["']?)[^\s"']{8,}(["']?)\s*$`)
	// dockerAuth matches the user and password of a registry in the configuration of Docker.
	dockerAuth  = regexp.MustCompile(`((?:\\?["']|\s|^)auth\\?["']?\s*:\s*\\?["']?)[A-Za-z0-9+/]{8,}={0,2}`)
	curlUser    = regexp.MustCompile(`(\bcurl\b[^\n]*?["'\s](?:-u|--user)["']?[ =,]+["']?[^\s:"']+):[^\s"']+`)
	ageKey      = regexp.MustCompile(`(?i)\bAGE-SECRET-KEY-1[0-9A-Z]+`)
	longHex     = regexp.MustCompile(`(?i)(sha256[:-])?\b[0-9a-f]{64}\b`)
	flagWithKey = regexp.MustCompile(`(--(?:[a-z]+-)*(?:password|token|secret|certificate-key|secret-key|api-key)\s+)[^\s"'-][^\s"']*`)
)

// Redact replaces what looks like a secret by "[hidden]": private keys, also those of age, bearer tokens,
// kubeadm's bootstrap tokens and certificate keys, logins of registries, and passwords, tokens and keys in
// assignments, YAML, JSON, flags and URLs. A secret in another form stays: it is a second line of defence. It keeps
// digests of the form sha256:..., which are public. A caller that shortens a string must call
// Redact first, because a part of a secret matches no pattern.
func Redact(s string) string {
	if strings.Contains(s, "PRIVATE KEY-----") {
		s = privateKey.ReplaceAllString(s, hidden)
	}
	s = encodedPEM.ReplaceAllStringFunc(s, redactEncoded)
	s = bearer.ReplaceAllString(s, "$1 "+hidden)
	s = webToken.ReplaceAllString(s, hidden)
	s = userinfo.ReplaceAllString(s, "$1:"+hidden+"@")
	s = flagWithKey.ReplaceAllString(s, "${1}"+hidden)
	s = keyValue.ReplaceAllString(s, "${1}"+hidden)
	s = assignment.ReplaceAllString(s, "$1$2"+hidden)
	s = yamlValue.ReplaceAllString(s, "${1}"+hidden)
	s = yamlToken.ReplaceAllString(s, "${1}"+hidden+"${2}")
	s = dockerAuth.ReplaceAllString(s, "${1}"+hidden)
	s = curlUser.ReplaceAllString(s, "$1:"+hidden)
	s = ageKey.ReplaceAllString(s, hidden)
	s = kubeadm.ReplaceAllString(s, hidden)
	return longHex.ReplaceAllStringFunc(s, func(hex string) string {
		if len(hex) > 64 {
			return hex
		}
		return hidden
	})
}

// redactEncoded hides every PEM block that is encoded in base64, except certificates, which are
// public.
func redactEncoded(encoded string) string {
	head := encoded[:min(len(encoded), 64)/4*4]
	plain, err := base64.StdEncoding.DecodeString(head)
	if err == nil && strings.HasPrefix(string(plain), "-----BEGIN CERTIFICATE") {
		return encoded
	}
	return hidden
}

// Lines redacts a text line by line. If a private key spans several lines, it hides all of them.
// The zero value is ready to use.
type Lines struct {
	inKey bool
}

// Redact returns the redacted line, and false if the line must be omitted.
func (l *Lines) Redact(line string) (string, bool) {
	if l.inKey {
		_, rest, ends := strings.Cut(line, "PRIVATE KEY-----")
		if !ends {
			return "", false
		}
		l.inKey = false
		line = rest
		if strings.TrimSpace(line) == "" {
			return "", false
		}
	}
	begin := strings.LastIndex(line, "-----BEGIN ")
	l.inKey = begin >= 0 && strings.Contains(line[begin:], "PRIVATE KEY-----") && !strings.Contains(line[begin:], "-----END ")
	return Redact(line), true
}
