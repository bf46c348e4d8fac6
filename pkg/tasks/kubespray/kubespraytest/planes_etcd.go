package kubespraytest

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// Join adds a healthy member of etcd at an address.
func (p *Planes) Join(address string) {
	p.Members = append(p.Members, &Member{ID: p.next, Address: address, started: true})
	p.next++
}

// Endpoints returns the URLs of etcd that an API server must use, joined by commas.
func (p *Planes) Endpoints() string {
	if p.Stacked {
		return "https://127.0.0.1:2379"
	}
	var all []string
	for _, m := range p.Members {
		all = append(all, "https://"+m.Address+":2379")
	}
	return strings.Join(all, ",")
}

// Etcdctl answers the commands of the task about etcd.
func (p *Planes) Etcdctl(command string, stdout io.Writer) int {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	alive := 0
	for _, m := range p.Members {
		if m.started && !m.Sick {
			alive++
		}
	}
	switch {
	case strings.HasPrefix(command, "test -s "):
		return map[bool]int{true: 0, false: 1}[strings.HasPrefix(command, "test -s /etc/ssl/etcd/ssl/admin-") != p.Stacked]
	case alive <= len(p.Members)/2:
		return 1 // without a majority, it does not answer
	case strings.Contains(command, " member list "):
		var all []string
		for _, m := range p.Members {
			clients := ""
			if m.started {
				clients = fmt.Sprintf("%q", "https://"+m.Address+":2379")
			}
			all = append(all, fmt.Sprintf(`{"ID":%d,"peerURLs":["https://%s:2380"],"clientURLs":[%s]}`, m.ID, m.Address, clients))
		}
		fmt.Fprintf(stdout, `{"members":[%s]}`, strings.Join(all, ","))
	case strings.Contains(command, " endpoint health --cluster "):
		var all []string
		for _, m := range p.Members {
			all = append(all, fmt.Sprintf(`{"endpoint":"https://%s:2379","health":%t}`, m.Address, m.started && !m.Sick))
		}
		fmt.Fprintf(stdout, "[%s]", strings.Join(all, ","))
	case strings.Contains(command, " member remove "):
		_, rest, _ := strings.Cut(command, " member remove ")
		id, _, _ := strings.Cut(rest, " ")
		p.Mu.Unlock()
		status := p.Change("member remove "+id, true)
		p.Mu.Lock()
		if status != 0 {
			return status
		}
		p.Members = slices.DeleteFunc(p.Members, func(m *Member) bool { return fmt.Sprintf("%x", m.ID) == id })
	}
	return 0
}

// Playbook is kubespray. cluster.yml joins the new control planes with what the cluster tells them.
func (p *Planes) Playbook(c process.Command, stdout, stderr io.Writer) int {
	name, limit := c.Args[len(c.Args)-1], strings.Split(c.Args[slices.Index(c.Args, "--limit")+1], ",")
	if name == contract.PlaybookReset {
		return p.resetBy(c, limit, stdout, stderr)
	}
	if i := slices.Index(c.Args, "--tags"); i > 0 {
		if status := p.Change("proxies "+strings.Join(limit, ","), true); status != 0 {
			return status
		}
		return Recorded("green", 0)(c, stdout, stderr)
	}
	if status := p.Change(name+" "+strings.Join(limit, ","), true); status != 0 {
		return status
	}
	hosts := string(p.In.HostsINI)
	_, group, _ := strings.Cut(hosts, "[etcd]\n")
	group, _, _ = strings.Cut(group, "\n\n")
	for i, n := range p.Machines {
		if !slices.Contains(limit, n.Name) || !slices.Contains(session.HostUIDs(p.In.Nodes), n.HostUID) {
			continue
		}
		isNew := !p.Nodes[n.Name] || p.Addresses[n.Name] != n.Address
		isMember := slices.ContainsFunc(p.Members, func(m *Member) bool { return m.Address == n.Address })
		if p.Stacked && isNew || !p.Stacked && !isMember && slices.Contains(strings.Split(group, "\n"), n.Name) {
			if !p.Stacked && !slices.Contains(limit, strings.Split(group, "\n")[0]) {
				p.T.Errorf("the first member of etcd is not in the play: %s", limit)
			}
			p.Mu.Lock()
			p.Join(n.Address)
			p.Mu.Unlock()
		}
		if isNew && p.Half {
			p.Disks[i].With(p.In.Request.UID)
			continue
		}
		if isNew {
			p.Mu.Lock()
			p.Nodes[n.Name], p.Addresses[n.Name] = true, n.Address
			p.Mu.Unlock()
			p.Disks[i].With(p.In.Request.UID)
			p.configure(i)
			if !p.Stacked { // kubeadm takes the members from the cluster
				p.Manifest(i, strings.Join(etcdEndpoint.FindAllString(p.Read("cluster/kubeadm-config"), -1), ","))
			}
		}
	}
	if p.Half {
		return Recorded("failed", 2)(c, stdout, stderr)
	}
	return Recorded("green", 0)(c, stdout, stderr)
}

func (p *Planes) resetBy(c process.Command, limit []string, stdout, stderr io.Writer) int {
	if status := p.Change(contract.PlaybookReset+" "+strings.Join(limit, ","), true); status != 0 {
		return status
	}
	for i, n := range p.Machines {
		if slices.Contains(limit, n.Name) && slices.Contains(session.HostUIDs(p.In.Nodes), n.HostUID) {
			p.Disks[i].Mu.Lock()
			p.Disks[i].Report.Kubernetes, p.Disks[i].Report.Left = nil, []string{"link cni0"}
			p.Disks[i].Mu.Unlock()
		}
	}
	return Recorded("green", 0)(c, stdout, stderr)
}
