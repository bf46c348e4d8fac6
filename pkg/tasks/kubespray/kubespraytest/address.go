package kubespraytest

import (
	"encoding/base64"
	"io"
	"regexp"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// peersOfAddress are the peers in a configuration of keepalived.
var peersOfAddress = regexp.MustCompile(`unicast_peer \{\n((?:    .*\n)*)`)

// MoveAddress requests an address of the API servers that moves between the control planes. It calls record with the number of
// each server that gets its part of the address, and its peers, or that gives it up.
func (w *Fixture) MoveAddress(record func(i int, did string)) {
	w.In.Request.API = &contract.API{Address: "10.60.0.100", Port: 6443, Virtual: true}
	config, before := regexp.MustCompile(`printf %s (\S+) \| base64 -d \| sed`), w.Scripts
	w.Scripts = func(i int, command string, stdout, stderr io.Writer) (int, bool) {
		switch m := config.FindStringSubmatch(command); {
		case !strings.Contains(command, "/etc/bpa/keepalived; m="):
		case m == nil:
			record(i, "gives up the address")
			return 0, true
		default:
			text, err := base64.StdEncoding.DecodeString(m[1])
			if err != nil {
				w.T.Error(err)
			}
			record(i, strings.TrimSpace("shares the address with "+strings.Join(strings.Fields(string(peersOfAddress.FindSubmatch(text)[1])), " ")))
			return 0, true
		}
		if before != nil {
			return before(i, command, stdout, stderr)
		}
		return 0, false
	}
}

// MoveAddress requests an address of the API servers that moves between the control planes. Did then has which control plane
// shares it with which others.
func (p *Planes) MoveAddress() {
	p.Fixture.MoveAddress(func(i int, did string) {
		p.Mu.Lock()
		defer p.Mu.Unlock()
		p.Did = append(p.Did, p.Machines[i].Name+" "+did)
	})
}
