package site

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// file is the content of site.yaml. Its fields are nodes, so that each error can name the line.
type file struct {
	Pods     yaml.Node `yaml:"pods"`
	Services yaml.Node `yaml:"services"`
	Site     *siteLink `yaml:"site"`
	BMC      *link     `yaml:"bmc"`
}

type siteLink struct {
	Interface yaml.Node   `yaml:"interface"`
	Address   yaml.Node   `yaml:"address"`
	Names     []yaml.Node `yaml:"names"`
	Servers   []yaml.Node `yaml:"servers"`
	APIServer bool        `yaml:"apiServer"`
}

type link struct {
	Interface yaml.Node   `yaml:"interface"`
	Networks  []yaml.Node `yaml:"networks"`
}

// Parse returns the network that the text of a file describes. Its error has all findings, one a line, each with the
// line of the file.
func Parse(text []byte) (layout.Network, error) {
	n := layout.DefaultNetwork()
	var f file
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return n, errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "in type site.", "of "), "yaml: "))
	}
	r := &reader{}
	n.Pods = r.rangeOf(f.Pods, "pods", n.Pods, 16, 25)
	n.Services = r.rangeOf(f.Services, "services", n.Services, 12, 24)
	if s := f.Site; s != nil {
		n.Site.Interface = r.interfaceOf(s.Interface, "site.interface")
		n.Site.Address = r.addressOf(s.Address, "site.address")
		n.Site.Networks = r.networksOf(s.Servers, "site.servers", "servers: the subnet of the interface, and others behind a router")
		n.ServeAPI = s.APIServer
		for _, node := range s.Names {
			n.Names = append(n.Names, r.nameOf(node))
		}
	}
	if b := f.BMC; b != nil {
		n.BMC.Interface = r.interfaceOf(b.Interface, "bmc.interface")
		n.BMC.Networks = r.networksOf(b.Networks, "bmc.networks", "BMCs")
	}
	r.apart(n, f)
	return n, errors.Join(r.findings...)
}

// Load returns the layout with the network of its copy of the file.
func Load(l layout.Layout) (layout.Layout, error) {
	l.Network = nil
	text, err := os.ReadFile(l.Site())
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	n, err := Parse(text)
	if err != nil {
		return l, fmt.Errorf("%s:\n%w\ncorrect this file: it is a copy of the one that `machine up --site FILE` got", l.Site(), err)
	}
	l.Network = &n
	return l, nil
}

// Fixed returns an error if a machine that runs with one network cannot get the other one. Objects and certificates in
// etcd, and all references to images, have addresses of both ranges.
func Fixed(now, next layout.Network) error {
	for _, r := range []struct {
		name      string
		now, next netip.Prefix
	}{{"pods", now.Pods, next.Pods}, {"services", now.Services, next.Services}} {
		if r.now != r.next {
			return fmt.Errorf("%s is %s on this machine and %s in the file: the range cannot change while the machine exists, because references to images, "+
				"certificates and objects have its addresses. Write %[2]s, or begin anew: `machine destroy`, then `machine up --site FILE`", r.name, r.now, r.next)
		}
	}
	return nil
}
