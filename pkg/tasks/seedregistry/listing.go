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

// listing is what a playbook writes for one host: files by the URL from which nodes fetch them, with Ansible's checksum (algorithm:hex).
type listing struct {
	Images   []artifacts.Image   `json:"images"`
	Files    []download          `json:"files"`
	Packages []artifacts.Package `json:"packages"`
}

type download struct {
	URL      string `json:"url"`
	Checksum string `json:"checksum"`
	// Variable is kubespray's for the checksum, if it has one, and Architecture its name of the host's.
	Variable     string `json:"variable"`
	Architecture string `json:"architecture"`
}

// known reports whether the playbooks say what is in the file.
func (d download) known() bool {
	_, sum, _ := strings.Cut(d.Checksum, ":")
	return sum != ""
}

// list turns a listing into what the depot must have. What nodes fetch from elsewhere is none of its business, and is told by URL.
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
		case "", "None": // anything will do
		default:
			return list, nil, nil, fmt.Errorf("file %s: the playbooks give the checksum %q, which is neither sha256:HEX nor sha512:HEX", d.URL, d.Checksum)
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
		return l, fmt.Errorf("the list that the playbooks wrote: %w", err)
	}
	return l, nil
}

// ReadList reads what the first step left for the second. It comes from where a Provisioning's templates ran: an address of its choosing is
// not taken from it.
func ReadList(path string) (artifacts.List, error) {
	file, err := os.Open(path)
	if err != nil {
		return artifacts.List{}, fmt.Errorf("the list of the first step: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, artifacts.MaxList+1))
	if err != nil {
		return artifacts.List{}, fmt.Errorf("the list of the first step: %w", err)
	}
	list, err := artifacts.Parse(text)
	if err != nil {
		return artifacts.List{}, err
	}
	for _, f := range list.Files {
		if f.URL != "" {
			return artifacts.List{}, fmt.Errorf("the list of the first step: file %s has an address of its own, %s", f.Path, f.URL)
		}
	}
	return list, nil
}

// WriteList leaves a list for the second step.
func WriteList(path string, list artifacts.List) error {
	text, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
