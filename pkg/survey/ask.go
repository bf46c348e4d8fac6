package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// Login is a way to log in to a server.
type Login struct {
	User string
	Port int
	Key  ssh.Key
}

// Server is a host with all ways to reach it, the likely ones first.
type Server struct {
	Addresses []string // IP addresses
	Logins    []Login
	Pinned    ssh.HostKey // nil: its host key is not known
	MACs      []string    // of the host
	// Member also asks a machine that has the mark of a cluster for its membership in a Kubernetes cluster.
	Member bool
}

// Add adds addresses, without those that are empty or there already.
func (s *Server) Add(addresses ...string) {
	for _, address := range addresses {
		if address != "" && !slices.Contains(s.Addresses, address) {
			s.Addresses = append(s.Addresses, address)
		}
	}
}

// manyAtOnce bounds the number of servers that are asked in parallel.
const manyAtOnce = 32

// connectLimit is the time in which a server must accept a login. It is short, because a host can have several addresses.
const connectLimit = 15 * time.Second

// AskAll asks servers in parallel, each within limit, and calls done for each of them as soon as it has answered. Calls of
// done are not concurrent.
func AskAll(ctx context.Context, dial node.Dial, servers []Server, limit time.Duration, done func(i int, a Answer)) {
	type numbered struct {
		i int
		a Answer
	}
	answers := make(chan numbered)
	go func() {
		defer close(answers)
		var group errgroup.Group
		group.SetLimit(manyAtOnce)
		for i := range servers {
			group.Go(func() error {
				answers <- numbered{i, Ask(ctx, dial, servers[i], limit)}
				return nil
			})
		}
		_ = group.Wait() // no call returns an error
	}()
	for n := range answers {
		done(n.i, n.a)
	}
}

// Ask asks a server who it is. Of several addresses, the first counts at which a machine with a MAC address of the host
// answers. If there is none, the answer is the one that says most: that of another machine, or else an error.
func Ask(ctx context.Context, dial node.Dial, s Server, limit time.Duration) Answer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	best := Answer{Err: ErrNoAddress}
	for _, address := range s.Addresses {
		a := s.askAt(ctx, dial, address)
		if a.Err == nil && unproven(Expected{MACs: s.MACs, Pinned: s.Pinned != nil}, a) == "" {
			return a
		}
		if best.Err != nil && (a.Err == nil || errors.Is(best.Err, ErrNoAddress) || errors.Is(best.Err, ssh.ErrUnreachable)) {
			best = a
		}
	}
	return best
}

// askAt asks the machine at an address, with the first login that it accepts.
func (s Server) askAt(ctx context.Context, dial node.Dial, address string) Answer {
	answer := Answer{Err: errors.New("there is no SSH key with which it could be asked")}
	for _, login := range s.Logins {
		answer = login.ask(ctx, dial, address, s)
		if !errors.Is(answer.Err, ssh.ErrDenied) {
			return answer
		}
	}
	return answer
}

func (l Login) ask(ctx context.Context, dial node.Dial, address string, s Server) Answer {
	request := contract.Request{Spec: contract.Spec{SSHUser: l.User, SSHPort: l.Port}}
	to := node.Target(request, contract.Node{Address: address})
	connect, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	conn, err := dial(connect, to, l.Key, s.Pinned)
	if err != nil {
		return Answer{At: to.HostPort(), Err: fmt.Errorf("%s: %w", to.HostPort(), err)}
	}
	defer conn.Close()
	a := Answer{At: to.HostPort(), Key: conn.HostKey(), Address: address, Login: l}
	text, err := conn.Output(ctx, "sh -c '"+machine.IdentityScript+"'", machine.MostIdentity)
	var exit *ssh.ExitError
	if err != nil && !errors.As(err, &exit) { // the script ends with the status of its last command, which a machine may lack
		return Answer{At: to.HostPort(), Err: fmt.Errorf("%s: %w", to.HostPort(), err)}
	}
	a.Identity = machine.ParseIdentity(text)
	report, err := machine.Inspect(ctx, node.Shell(request, conn))
	if err != nil {
		a.Err = fmt.Errorf("%s: %w", to.HostPort(), err)
	}
	a.User, a.Kubernetes = report.User, report.Kubernetes
	if s.Member && a.Err == nil && a.User != (contract.User{}) {
		if a.Member, err = machine.Member(ctx, node.Shell(request, conn)); err != nil {
			a.Err = fmt.Errorf("%s: %w", to.HostPort(), err)
		}
	}
	return a
}
