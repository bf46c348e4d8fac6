package ansible

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Trouble is the cause of a failed task, if the texts of the module show it. Empty: it is not known. All but
// Lasting usually disappear without a user's action.
type Trouble string

const (
	// Download means that a file, an image or a package could not be fetched because of the network
	// or an overloaded server.
	Download Trouble = "Download"
	// Locked means that another process, such as unattended-upgrades, holds the lock of the package
	// manager.
	Locked Trouble = "Locked"
	// TimedOut means that a condition was not met within the time limit of the task.
	TimedOut Trouble = "TimedOut"
	// Lasting means that another attempt would fail in the same way, such as a download of a file that does not
	// exist, or a full disk.
	Lasting Trouble = "Lasting"
)

var (
	// uriStatus matches the message of the module uri for an unexpected status. Status -1 means no
	// answer.
	uriStatus = regexp.MustCompile(`^Status code was (-?\d+) and not`)
	// pullStatus matches the message of containerd's client, which crictl and nerdctl print, for an
	// error answer of a registry.
	pullStatus = regexp.MustCompile(`unexpected status.*?: (\d{3}) `)
)

// The lists hold parts of messages that modules and package managers print. The comparison is
// case-sensitive.
var (
	packageModules = []string{"apt", "apt_repository", "package", "dnf", "dnf5", "yum", "zypper"}

	asyncTexts = []string{"async task did not complete within the requested time", "action failed to execute in the expected time frame", "Timeout exceeded"}
	waitTexts  = []string{"Timeout when waiting for", "timed out waiting for", "Timed out waiting for"}
	lockTexts  = []string{
		"Could not get lock /var/lib/", "Could not get lock /var/cache/", "dpkg frontend lock", "Failed to lock apt for exclusive operation",
		"lockfile is held by another process", "rpm transaction lock",
	}
	packageTexts = []string{
		"Failed to fetch", "Unable to fetch some archives", "Failed to update apt cache", "Temporary failure resolving", "Could not connect to",
		"Curl error (", "Failed to download", "Cannot download",
	}
	pullTexts = []string{
		"failed to pull image", "pulling image", "failed to resolve reference", "failed to resolve image", "httpReadSeeker", "failed to do request",
	}
	networkTexts = []string{
		"i/o timeout", "connection refused", "connection reset", "handshake timeout", ": EOF", "unexpected EOF", "no route to host",
		"network is unreachable", "server misbehaving", "no such host", "Client.Timeout", "context deadline exceeded", "toomanyrequests",
	}
	// lastingTexts are parts of messages about failures that another attempt would repeat.
	lastingTexts = []string{
		"x509:", "ertificate verif", "CERTIFICATE_VERIFY_FAILED", "Hash Sum mismatch", "did not match", "checksum", "not found", "Not Found",
		"Forbidden", "nauthorized", "no space left", "No space left", "NO_PUBKEY", "is not signed",
	}
	// alwaysLasting are those of them that mean the same in the messages of all programs.
	alwaysLasting = []string{
		"x509:", "CERTIFICATE_VERIFY_FAILED", "Hash Sum mismatch", "no space left", "No space left", "Disk quota exceeded", "NO_PUBKEY",
	}
)

// trouble classifies a failure by the module that failed, the HTTP status that the module reports,
// and the strings in its result.
func (r rawResult) trouble(action string) Trouble {
	if r.Censored != "" {
		return ""
	}
	for _, item := range r.Results {
		if item.Failed {
			return item.trouble(action)
		}
	}
	module := action[strings.LastIndex(action, ".")+1:]
	text := strings.Join([]string{string(r.Msg), string(r.Stderr), string(r.ModErr), string(r.Stdout)}, "\n")
	if passing := r.passing(module, text); passing != "" {
		return passing
	}
	if refused := r.Status >= 400 && !busy(r.Status); refused && fetches(module) || has(text, alwaysLasting) {
		return Lasting
	}
	if (fetches(module) || has(text, pullTexts)) && has(text, lastingTexts) {
		return Lasting
	}
	return ""
}

// fetches reports whether the module fetches files or packages, so that its texts are about servers.
func fetches(module string) bool {
	return module == "get_url" || module == "uri" || slices.Contains(packageModules, module)
}

// passing classifies a failure that usually disappears without a user's action.
func (r rawResult) passing(module, text string) Trouble {
	switch {
	case has(text, lockTexts):
		return Locked
	case has(string(r.Msg), asyncTexts):
		return TimedOut
	}
	switch module {
	case "get_url":
		return r.fetch()
	case "uri":
		if m := uriStatus.FindStringSubmatch(string(r.Msg)); m != nil && busy(number(m[1])) && !has(text, lastingTexts) {
			return TimedOut
		}
	case "wait_for", "wait_for_connection":
		if has(string(r.Msg), waitTexts) {
			return TimedOut
		}
	case "command", "shell":
		return commandTrouble(text)
	}
	if slices.Contains(packageModules, module) && has(text, packageTexts) && !has(text, lastingTexts) {
		return Download
	}
	return ""
}

// fetch classifies a failure of get_url. The module reports a status if the server answered, and
// only a message if it did not.
func (r rawResult) fetch() Trouble {
	msg := string(r.Msg)
	answered := msg == "Request failed" && busy(r.Status)
	silent := strings.HasPrefix(msg, "Connection failure: ") || strings.HasPrefix(msg, "Request failed: <urlopen error")
	if (answered || silent) && !has(msg, lastingTexts) {
		return Download
	}
	return ""
}

// commandTrouble classifies a failed image pull by nerdctl, crictl, ctr or kubeadm, and a kubectl
// wait that timed out.
func commandTrouble(text string) Trouble {
	status := pullStatus.FindStringSubmatch(text)
	switch {
	case has(text, pullTexts) && !has(text, lastingTexts) && (has(text, networkTexts) || status != nil && busy(number(status[1]))):
		return Download
	case has(text, waitTexts):
		return TimedOut
	}
	return ""
}

// busy reports whether a request with this HTTP status may succeed later. It returns true for no
// answer (-1), a time-out, too many requests, and a server error.
func busy(status int) bool { return status == -1 || status == 408 || status == 429 || status >= 500 }

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // digits only
	return n
}

func has(text string, any []string) bool {
	for _, part := range any {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
