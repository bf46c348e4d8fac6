package ansible

import (
	"regexp"
	"strconv"
	"strings"
)

// Trouble is why a task failed, where that goes away by itself more often than not. Empty: a person had better look.
type Trouble string

const (
	// Download: a file, an image or a package could not be fetched, for a reason of the network or of an overloaded server.
	Download Trouble = "Download"
	// Locked: another process, such as unattended-upgrades, holds the lock of the package manager.
	Locked Trouble = "Locked"
	// TimedOut: something did not happen in the time that the task waits for it.
	TimedOut Trouble = "TimedOut"
)

var (
	// uriStatus is how the module uri reports a status that it does not want; -1 is no answer at all.
	uriStatus = regexp.MustCompile(`^Status code was (-?\d+) and not`)
	// pullStatus is how containerd's client, which crictl and nerdctl print, reports a registry that answers with an error.
	pullStatus = regexp.MustCompile(`unexpected status.*?: (\d{3}) `)
)

// Texts that modules and package managers print; compared as they are.
var (
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
	// lastingTexts are reasons that another attempt meets again.
	lastingTexts = []string{
		"x509:", "ertificate verif", "CERTIFICATE_VERIFY_FAILED", "Hash Sum mismatch", "did not match", "checksum", "not found", "Not Found",
		"Forbidden", "nauthorized", "no space left", "No space left", "NO_PUBKEY", "is not signed",
	}
)

// trouble looks at the module that failed, the HTTP status that it reports and its texts.
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
	case "apt", "apt_repository", "package", "dnf", "dnf5", "yum", "zypper":
		if has(text, packageTexts) && !has(text, lastingTexts) {
			return Download
		}
	case "command", "shell":
		return commandTrouble(text)
	}
	return ""
}

// fetch is the trouble of get_url. It reports a status where the server answered, and a message alone where it did not.
func (r rawResult) fetch() Trouble {
	msg := string(r.Msg)
	answered := msg == "Request failed" && busy(r.Status)
	silent := strings.HasPrefix(msg, "Connection failure: ") || strings.HasPrefix(msg, "Request failed: <urlopen error")
	if (answered || silent) && !has(msg, lastingTexts) {
		return Download
	}
	return ""
}

// commandTrouble is that of a pull by nerdctl, crictl, ctr or kubeadm, or of kubectl that waits.
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

// busy reports whether an HTTP status is one of a server that may do better later: none, a time-out, too many requests, an error of its own.
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
