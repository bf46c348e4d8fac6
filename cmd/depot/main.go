package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/auth/kubernetes"
	"github.com/akraino-icn/bpa/pkg/depot/deadline"
	"github.com/akraino-icn/bpa/pkg/depot/registry"
)

type config struct {
	root                           string
	listen, tlsListen, localListen string
	probeListen                    string
	hosts                          []string
	connections, perAddress        int
	minRate                        size
	anonymousRead                  bool
	kubeconfig, audience           string
	verbose                        bool
	storage                        storage
}

func main() {
	if code, ok := maintain(os.Args[1:]); ok {
		os.Exit(code)
	}
	var c config
	flag.StringVar(&c.root, "root", "", "directory of the store (required); files/ in it appears as /files/")
	flag.StringVar(&c.tlsListen, "tls-listen", "", "address to serve HTTPS on, such as :5443: reads, and writes with a Kubernetes token")
	flag.StringVar(&c.listen, "listen", "", "address to serve plain HTTP on, such as :5000: anonymous reads only")
	flag.StringVar(&c.localListen, "local-listen", "", "serve this machine on a loopback address (reads, and writes with the token that is made in ROOT/local-token) or on unix:PATH (everything, for who may open it)")
	flag.StringVar(&c.probeListen, "probe-listen", "", "address to answer /healthz and /readyz on by plain HTTP and nothing else, such as :8081; clients that fill the other listeners do not fill this one")
	flag.Func("host", "name or address that clients reach the depot by, for its certificate (repeatable)", func(host string) error {
		c.hosts = append(c.hosts, host)
		return nil
	})
	flag.IntVar(&c.connections, "max-connections", 2048, "connections at a time on --listen and on --tls-listen; more wait")
	flag.IntVar(&c.perAddress, "max-connections-per-address", 0, "how many of them one client address may have; as many more wait, and others are closed (0: half of --max-connections)")
	c.minRate = size(deadline.Default().Rate)
	flag.Var(&c.minRate, "min-rate", "least average speed of a transfer in bytes per second; a slower one is cut off")
	flag.BoolVar(&c.anonymousRead, "anonymous-read", true, "let anybody read; false: reads need a token and a right as well")
	flag.StringVar(&c.kubeconfig, "kubeconfig", "", "how to reach the Kubernetes that judges tokens; in a pod its own by default")
	flag.StringVar(&c.audience, "audience", kubernetes.Audience, "what tokens must be for; empty: the API server's own audience")
	c.storage.flags(flag.CommandLine)
	flag.BoolVar(&c.verbose, "verbose", false, "log every request")
	flag.Parse()

	level := slog.LevelInfo
	if c.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, c, log)
	stop()
	if err != nil {
		log.Error("depot ended", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, c config, log *slog.Logger) error {
	if c.root == "" {
		return errors.New("--root is empty: name the directory to keep the store in")
	}
	registry.RedirectLog(log)
	held, err := lock(c.root)
	if err != nil {
		return err
	}
	defer held.Close()
	store, err := depot.New(c.root, append(c.storage.options(), depot.WithLogger(log))...)
	if err != nil {
		return err
	}
	endpoints, err := openListeners(ctx, c, store, log)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	for _, d := range endpoints {
		log.Info("serving", "door", d.name, "address", d.listener.Addr().String(), "root", c.root)
	}
	return errors.Join(serve(ctx, endpoints, c.deadlines(), log), store.Close())
}
