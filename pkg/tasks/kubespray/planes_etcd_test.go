package kubespray

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

func (p *planesFixture) join(address string) {
	p.members = append(p.members, &fakeMember{id: p.next, address: address, started: true})
	p.next++
}

func (p *planesFixture) endpoints() string {
	if p.stacked {
		return "https://127.0.0.1:2379"
	}
	var all []string
	for _, m := range p.members {
		all = append(all, "https://"+m.address+":2379")
	}
	return strings.Join(all, ",")
}

func (p *planesFixture) etcdctl(command string, stdout io.Writer) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	alive := 0
	for _, m := range p.members {
		if m.started && !m.sick {
			alive++
		}
	}
	switch {
	case strings.HasPrefix(command, "test -s "):
		return map[bool]int{true: 0, false: 1}[strings.HasPrefix(command, "test -s /etc/ssl/etcd/ssl/admin-") != p.stacked]
	case alive <= len(p.members)/2:
		return 1 // without a majority, it does not answer
	case strings.Contains(command, " member list "):
		var all []string
		for _, m := range p.members {
			clients := ""
			if m.started {
				clients = fmt.Sprintf("%q", "https://"+m.address+":2379")
			}
			all = append(all, fmt.Sprintf(`{"ID":%d,"peerURLs":["https://%s:2380"],"clientURLs":[%s]}`, m.id, m.address, clients))
		}
		fmt.Fprintf(stdout, `{"members":[%s]}`, strings.Join(all, ","))
	case strings.Contains(command, " endpoint health --cluster "):
		var all []string
		for _, m := range p.members {
			all = append(all, fmt.Sprintf(`{"endpoint":"https://%s:2379","health":%t}`, m.address, m.started && !m.sick))
		}
		fmt.Fprintf(stdout, "[%s]", strings.Join(all, ","))
	case strings.Contains(command, " member remove "):
		_, rest, _ := strings.Cut(command, " member remove ")
		id, _, _ := strings.Cut(rest, " ")
		p.mu.Unlock()
		status := p.change("member remove "+id, true)
		p.mu.Lock()
		if status != 0 {
			return status
		}
		p.members = slices.DeleteFunc(p.members, func(m *fakeMember) bool { return fmt.Sprintf("%x", m.id) == id })
	}
	return 0
}

// playbook is kubespray. cluster.yml joins the new control planes with what the cluster tells them.
func (p *planesFixture) playbook(c process.Command, stdout, stderr io.Writer) int {
	name, limit := c.Args[len(c.Args)-1], strings.Split(c.Args[slices.Index(c.Args, "--limit")+1], ",")
	if name == contract.PlaybookReset {
		return p.resetBy(c, limit, stdout, stderr)
	}
	if i := slices.Index(c.Args, "--tags"); i > 0 {
		if status := p.change("proxies "+strings.Join(limit, ","), true); status != 0 {
			return status
		}
		return recorded("green", 0)(c, stdout, stderr)
	}
	if status := p.change(name+" "+strings.Join(limit, ","), true); status != 0 {
		return status
	}
	hosts := string(p.in.HostsINI)
	_, group, _ := strings.Cut(hosts, "[etcd]\n")
	group, _, _ = strings.Cut(group, "\n\n")
	for i, n := range p.machines {
		if !slices.Contains(limit, n.Name) || !slices.Contains(session.HostUIDs(p.in.Nodes), n.HostUID) {
			continue
		}
		isNew := !p.nodes[n.Name] || p.addresses[n.Name] != n.Address
		isMember := slices.ContainsFunc(p.members, func(m *fakeMember) bool { return m.address == n.Address })
		if p.stacked && isNew || !p.stacked && !isMember && slices.Contains(strings.Split(group, "\n"), n.Name) {
			if !p.stacked && !slices.Contains(limit, strings.Split(group, "\n")[0]) {
				p.t.Errorf("the first member of etcd is not in the play: %s", limit)
			}
			p.mu.Lock()
			p.join(n.Address)
			p.mu.Unlock()
		}
		if isNew && p.half {
			p.disks[i].with(p.in.Request.UID)
			continue
		}
		if isNew {
			p.mu.Lock()
			p.nodes[n.Name], p.addresses[n.Name] = true, n.Address
			p.mu.Unlock()
			p.disks[i].with(p.in.Request.UID)
			p.configure(i)
			if !p.stacked { // kubeadm takes the members from the cluster
				p.manifest(i, strings.Join(etcdEndpoint.FindAllString(p.read("cluster/kubeadm-config"), -1), ","))
			}
		}
	}
	if p.half {
		return recorded("failed", 2)(c, stdout, stderr)
	}
	return recorded("green", 0)(c, stdout, stderr)
}

func (p *planesFixture) resetBy(c process.Command, limit []string, stdout, stderr io.Writer) int {
	if status := p.change(contract.PlaybookReset+" "+strings.Join(limit, ","), true); status != 0 {
		return status
	}
	for i, n := range p.machines {
		if slices.Contains(limit, n.Name) && slices.Contains(session.HostUIDs(p.in.Nodes), n.HostUID) {
			p.disks[i].mu.Lock()
			p.disks[i].report.Kubernetes, p.disks[i].report.Left = nil, []string{"link cni0"}
			p.disks[i].mu.Unlock()
		}
	}
	return recorded("green", 0)(c, stdout, stderr)
}
