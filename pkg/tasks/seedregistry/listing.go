package seedregistry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

// listing is what a playbook writes for one host: the artifacts that the host needs.
type listing struct {
	Images   []artifacts.Image   `json:"images"`
	Files    []download          `json:"files"`
	Packages []artifacts.Package `json:"packages"`
}

// download is a file that nodes fetch.
type download struct {
	URL      string `json:"url"`      // address from which nodes fetch the file
	Checksum string `json:"checksum"` // algorithm:hex, as in Ansible; the playbooks have no checksum if it is empty or hex is missing
	// Variable is kubespray's variable for the checksum; empty: there is none. Architecture is the
	// architecture of the host, by kubespray's name.
	Variable     string `json:"variable"`
	Architecture string `json:"architecture"`
}

// known reports whether the playbooks have a checksum for the file.
func (d download) known() bool {
	_, sum, _ := strings.Cut(d.Checksum, ":")
	return sum != ""
}

// list converts a listing to the list of artifacts that the depot must have. It also returns the
// pins of files without a checksum, and, in elsewhere, the URLs of files that nodes do not fetch
// from the depot.
func (l listing) list(depot string) (list artifacts.List, pins []Pin, elsewhere []string, err error) {
	list = artifacts.List{Images: l.Images, Packages: slices.Clone(l.Packages)}
	for _, d := range l.Files {
		path, inside := strings.CutPrefix(d.URL, strings.TrimRight(depot, "/")+"/files/")
		if !inside {
			elsewhere = append(elsewhere, d.URL)
			continue
		}
		if path, err = url.PathUnescape(path); err != nil {
			return list, nil, nil, fmt.Errorf("file %s: %w", d.URL, err)
		}
		file := artifacts.File{Path: path}
		algorithm, sum, _ := strings.Cut(d.Checksum, ":")
		switch algorithm {
		case "sha256":
			file.SHA256 = strings.ToLower(sum)
		case "sha512":
			file.SHA512 = strings.ToLower(sum)
		case "", "None": // any content is accepted
		default:
			return list, nil, nil, fmt.Errorf("file %s: the checksum %q of the playbooks is neither sha256:HEX nor sha512:HEX", d.URL, d.Checksum)
		}
		list.Files = append(list.Files, file)
		if p := d.pin(path); p != nil {
			pins = append(pins, *p)
		}
	}
	return list, pins, elsewhere, nil
}

func parse(text []byte) (l listing, err error) {
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("read the list that the playbooks wrote: %w", err)
	}
	return l, nil
}

// ReadList reads the list that the first step wrote. It rejects a list in which a file has a URL.
// Templates of a Provisioning run in the first step, so they can change the list. They must not be
// able to make the second step connect to other addresses.
func ReadList(path string) (artifacts.List, error) {
	file, err := os.Open(path)
	if err != nil {
		return artifacts.List{}, fmt.Errorf("read the list of the first step: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, artifacts.MaxList+1))
	if err != nil {
		return artifacts.List{}, fmt.Errorf("read the list of the first step: %w", err)
	}
	list, err := artifacts.Parse(text)
	if err != nil {
		return artifacts.List{}, err
	}
	for _, f := range list.Files {
		if f.URL != "" {
			return artifacts.List{}, fmt.Errorf("the list of the first step: file %s must not have a URL, but has %s", f.Path, f.URL)
		}
	}
	return list, nil
}

// WriteList writes the list of artifacts, which the second step reads with ReadList.
func WriteList(path string, list artifacts.List) error {
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
