package software

import (
	"encoding/json"
	"fmt"
)

// Seen is what a node has. The module bpa_software writes it.
type Seen struct {
	// Manager is the package manager: apt, dnf, or empty if the node has neither. Architecture is that of
	// the package manager, such as amd64 or x86_64.
	Manager      string `json:"manager"`
	Architecture string `json:"architecture"`
	// Packages has what the node has of each package that was asked for.
	Packages map[string]SeenPackage `json:"packages"`
	// Notes are problems that may not matter, such as a package source that does not answer.
	Notes []string `json:"notes"`
	// Errors has, after a change, the cause and the last output of each package that failed.
	Errors map[string]string `json:"errors"`
	// Later are the names of Errors whose cause can end by itself: a failed download, a lock that was held.
	Later []string `json:"later"`
}

// SeenPackage is what a node has of one package.
type SeenPackage struct {
	Native string `json:"native"` // version of the package manager's package; empty: none
	Broken bool   `json:"broken"` // it is not installed completely
	Tar    *Mark  `json:"tar"`    // a tar package; nil: none
	// Candidate is the version that the package sources install, and Versions all that they have. They are
	// only asked for packages without a file.
	Candidate string   `json:"candidate"`
	Versions  []string `json:"versions"`
	// Order says, by an installed and another version, whether the first is older (-1), equal (0) or newer (1).
	Order map[string]map[string]int `json:"order"`
}

// Mark is what a tar package leaves when it is installed.
type Mark struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// question is a package that the module looks for.
type question struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Versions are those of the architectures, if they differ: the node's is not known before its first answer.
	Versions []string `json:"versions,omitempty"`
	Sources  bool     `json:"sources,omitempty"` // it is looked up in the package sources too
}

// request is what the module gets. Without actions, it only looks.
type request struct {
	Packages      []question `json:"packages"`
	Actions       []Action   `json:"actions,omitempty"`
	CA            string     `json:"ca,omitempty"` // file on the node with the depot's certificate authority
	LockSeconds   int        `json:"lockSeconds,omitempty"`
	ScriptSeconds int        `json:"scriptSeconds,omitempty"`
	Root          string     `json:"root,omitempty"` // empty: /var/lib/bpa/software
}

// Action is what the module does with one package.
type Action struct {
	Do      string `json:"do"` // install or remove
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // empty: the newest of the package sources
	File    *File  `json:"file,omitempty"`    // nil: it comes from the package sources
	// Downgrade reports that an older version replaces a newer one.
	Downgrade bool `json:"downgrade,omitempty"`
	// Tar reports that a tar package is removed, and ReplacesTar that one is removed before.
	Tar         bool `json:"tar,omitempty"`
	ReplacesTar bool `json:"replacesTar,omitempty"`
}

// File is a file that a node downloads.
type File struct {
	URL    string `json:"url"`
	Format string `json:"format"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size,omitempty"`
}

// mostAnswer limits the answer of a node, in bytes.
const mostAnswer = 8 << 20

func parseSeen(raw []byte) (Seen, error) {
	var s Seen
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, fmt.Errorf("the node's answer is not understood: %w", err)
	}
	return s, nil
}
