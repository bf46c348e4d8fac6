// Command coredns is CoreDNS with only the plugins that the DNS server of a Kubernetes cluster
// uses. The plugins of cloud providers would take most of the build time.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/caddy/onevent"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/rewrite"
	_ "github.com/coredns/coredns/plugin/template"
)

// Queries pass the plugins in the order of this list, which is CoreDNS's default order.
func init() {
	dnsserver.Directives = []string{
		"reload", "bind", "health", "ready", "prometheus", "errors", "log", "cache", "rewrite", "loadbalance",
		"template", "hosts", "kubernetes", "loop", "forward",
	}
}

func main() { coremain.Run() }
