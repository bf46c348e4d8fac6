package visit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/akraino-icn/bpa/pkg/check"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// Login is a way to log in.
type Login struct {
	User string
	Port int
	Key  ssh.Key
}

// Host is a node of an Input with the ways to reach it, the likely ones first.
type Host struct {
	Addresses []string // IP addresses
	Logins    []Login
	Pinned    ssh.HostKey // nil: its host key is not known, and any is accepted
}

// Limit is a time in which a host that is well answers. Its parts have limits of their own, which are shorter.
const Limit = 30 * time.Second

// manyAtOnce bounds the number of hosts that are asked in parallel. A host answers its peers also before and after its own
// script.
const manyAtOnce = 128

// connectLimit is the time in which a host must accept a login at one address.
const connectLimit = 10 * time.Second

// All asks the hosts of the nodes of an Input in parallel, each within limit. Calls of done report the number of hosts that have
// answered; they are not concurrent. nil: nobody listens.
func All(ctx context.Context, dial node.Dial, in check.Input, hosts []Host, limit time.Duration, done func(answered, node int)) []check.Answer {
	answers := make([]check.Answer, len(in.Nodes))
	ends := make(chan int)
	go func() {
		defer close(ends)
		var group errgroup.Group
		group.SetLimit(manyAtOnce)
		for i := range in.Nodes {
			group.Go(func() error {
				answers[i] = ask(ctx, dial, check.Script(in, i), hosts[i], limit)
				ends <- i
				return nil
			})
		}
		_ = group.Wait() // no call returns an error
	}()
	answered := 0
	for i := range ends {
		if answered++; done != nil {
			done(answered, i)
		}
	}
	return answers
}

// ErrNoWay reports that no address or no login of a host is known.
var ErrNoWay = errors.New("neither its address nor its login is known")

// ask runs the script on a host, at the first address and with the first login that it accepts.
func ask(ctx context.Context, dial node.Dial, script string, h Host, limit time.Duration) check.Answer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := ErrNoWay
	for _, address := range h.Addresses {
		silent := 0 // port at which no login needs to be tried any more
		for _, login := range h.Logins {
			if login.Port == silent {
				continue
			}
			to := ssh.Target{Address: address, Port: login.Port, User: login.User}
			conn, failed := connect(ctx, dial, to, login.Key, h.Pinned)
			if failed == nil {
				defer conn.Close()
				return run(ctx, conn, script)
			}
			if err == ErrNoWay || errors.Is(err, ssh.ErrUnreachable) { // the answer of a server says more than none
				err = fmt.Errorf("%s: %w", to.HostPort(), failed)
			}
			if !errors.Is(failed, ssh.ErrDenied) {
				silent = login.Port
			}
		}
	}
	return check.Answer{Err: err}
}

func connect(ctx context.Context, dial node.Dial, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	return dial(ctx, to, key, pinned)
}

// run runs the script over a connection.
func run(ctx context.Context, conn node.Connection, script string) check.Answer {
	a := check.Answer{Asked: time.Now()}
	text, err := conn.Send(ctx, check.Command, strings.NewReader(script), check.MostAnswer)
	a.Answered = time.Now()
	var parsed error
	a.Facts, parsed = check.Parse(text)
	if err != nil && parsed != nil { // a status other than 0 after the last line says nothing
		a.Err = fmt.Errorf("%w: %w", check.ErrIncomplete, err)
	} else {
		a.Err = parsed
	}
	return a
}
