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
	flag.StringVar(&c.root, "root", "", "directory of the store (required); its subdirectory files/ is served as /files/")
	flag.StringVar(&c.tlsListen, "tls-listen", "", "address to serve HTTPS on, such as :5443: reads, and writes with a Kubernetes token")
	flag.StringVar(&c.listen, "listen", "", "address to serve plain HTTP on, such as :5000: anonymous reads only")
	flag.StringVar(&c.localListen, "local-listen", "", "address for programs on this machine: a loopback address (reads, and writes with the token that the depot creates in ROOT/local-token) or unix:PATH (reads and writes without a token, for users that may open the socket)")
	flag.StringVar(&c.probeListen, "probe-listen", "", "address to serve only /healthz and /readyz on, by plain HTTP, such as :8081; it has its own connection limit, so probes are answered while the other listeners are full")
	flag.Func("host", "host name or IP address by which clients reach the depot, for its certificate (repeatable)", func(host string) error {
		c.hosts = append(c.hosts, host)
		return nil
	})
	flag.IntVar(&c.connections, "max-connections", 2048, "maximum number of connections at a time on --listen, and the same number on --tls-listen; further connections wait")
	flag.IntVar(&c.perAddress, "max-connections-per-address", 0, "maximum number of open connections of one client address; the same number of further connections waits, and all others are closed (0: half of --max-connections)")
	c.minRate = size(deadline.Default().Rate)
	flag.Var(&c.minRate, "min-rate", "lowest average speed of a transfer in bytes per second; the depot cuts off a slower transfer")
	flag.BoolVar(&c.anonymousRead, "anonymous-read", true, "allow reads without a token; false: reads need a token and permission too")
	flag.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig of the Kubernetes API server that reviews tokens and has the Softwares; default in a pod: the API server of its cluster")
	flag.StringVar(&c.audience, "audience", kubernetes.Audience, "audience that tokens must have; empty: the API server's own audience")
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

// run opens the store and serves it until ctx ends.
func run(ctx context.Context, c config, log *slog.Logger) error {
	if c.root == "" {
		return errors.New("--root is empty: give the directory of the store")
	}
	registry.RedirectLog(log)
	held, err := lock(c.root)
	if err != nil {
		return err
	}
	defer held.Close()
	software, err := c.software()
	if err != nil {
		return err
	}
	store, err := depot.New(c.root, append(c.storage.options(), append(software, depot.WithLogger(log))...)...)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, store.StopWaiting)
	endpoints, err := openListeners(ctx, c, store, log)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	for _, d := range endpoints {
		log.Info("serving", "listener", d.name, "address", d.listener.Addr().String(), "root", c.root)
	}
	return errors.Join(serve(ctx, endpoints, c.deadlines(), log), store.Close())
}
