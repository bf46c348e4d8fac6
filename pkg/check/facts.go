package check

import (
	"bytes"
	"errors"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/machine"
)

// Facts are the answer of a host. A fact with the zero value is not known.
type Facts struct {
	Identity machine.Identity
	// Begin and End are the clock of the host at the begin and the end of the script, in seconds since 1970. Whole reports
	// that the host gives whole seconds only.
	Begin, End float64
	Whole      bool

	UID                                                     string
	User, Kernel, Arch, Hostname, OS, Init, MachineID, UUID string
	CPUs, Memory                                            int64 // Memory in bytes
	// Swaps are the devices in use; SwapsKnown: there is a list of them.
	Swaps      []string
	SwapsKnown bool
	// CgroupFS is the type of the file system at /sys/fs/cgroup.
	CgroupFS    string
	Controllers []string
	SELinux     string // 1: enforcing
	AppArmor    string // Y: on
	Tools       []string
	Processes   []string // of those that the script looks for
	Kubernetes  []string // files of a Kubernetes
	Firewalls   []string
	// Synchronized is yes or no.
	Synchronized string

	Disks map[string]Disk // by the paths of the script

	Nameservers, Upstream []string // of resolv.conf, and of that of systemd-resolved
	Lookup                time.Duration
	LookupKnown           bool
	Name                  *Name // nil: it was not asked for, or the host has no getent
	Routes                []Route
	RoutesKnown           bool
	Addresses             []netip.Addr
	Listens               []Listen

	Locks       []string // "FILE PROGRAM PID"
	Interrupted bool

	Features map[string]Feature // by module

	Fsync []time.Duration // of each write

	Download *Download // nil: none was tried, or the host has no program for it

	DF      bool   // the host can send packets that are not fragmented
	Machine string // address from which the host is asked
	Pings   map[string]Ping
	Knocks  map[Knock]string // open, refused, silent, rejected or failed
}

// Disk is the file system on which a path is or will be. Sizes are in bytes.
type Disk struct {
	Device      string
	Size, Free  int64
	Inodes      int64 // 0: the file system has no fixed number
	InodesFree  int64
	Point       string // where it is mounted
	Options     []string
	SizeUnknown bool
}

// Route is a row of a routing table. To is the zero Prefix in a default route.
type Route struct {
	To     netip.Prefix
	Device string
}

// Listen is a port in use.
type Listen struct {
	Protocol string // tcp or udp
	Port     int
	Any      bool   // at all addresses
	Owner    string // program; empty: not known
}

// Feature is a feature of the kernel.
type Feature struct {
	Has string // yes, no or unknown
	How string
}

// Download is the download from the depot.
type Download struct {
	Status int // of the program; 0: there was an answer
	Code   int // of HTTP
	Bytes  int64
	Took   time.Duration
	Why    string
}

// Ping is the largest packet that arrived, in bytes; 0: none. MTU is that of the network card.
type Ping struct {
	MTU, Largest int
	// FragNeeded reports that a router answered a larger packet with ICMP "fragmentation needed" (IPv6: "packet too big"),
	// so that path MTU discovery works.
	FragNeeded bool
}

// Knock is an attempt to reach a port.
type Knock struct {
	Address, Protocol string
	Port              int
}

// MostAnswer bounds the answer of a host in bytes, and the others bound parts of it.
const (
	MostAnswer = 512 << 10
	mostLine   = 1000
	mostItems  = 4096
	mostFew    = 64
)

// ErrIncomplete reports that a script did not run to its end.
var ErrIncomplete = errors.New("the probe did not run to its end")

// Parse reads the answer of a host. Lines that it does not know are ignored, and so are values that make no sense: another
// machine wrote them.
func Parse(answer []byte) (Facts, error) {
	f := Facts{Disks: map[string]Disk{}, Features: map[string]Feature{}, Pings: map[string]Ping{}, Knocks: map[Knock]string{}}
	var id, version string
	var identity bytes.Buffer
	owners := map[Listen]string{}
	ended, clocks := false, 0
	for raw := range bytes.Lines(answer[:min(len(answer), MostAnswer)]) {
		line := strings.TrimSpace(string(raw[:min(len(raw), mostLine)]))
		key, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		fields := strings.Fields(rest)
		if read, is := texts[key]; is {
			read(&f, rest)
			continue
		}
		if read, is := lists[key]; is {
			read(&f, rest, fields)
			continue
		}
		switch key {
		case "name", "card", "usb", "virtual", "permanent": // of machine.IdentityScript
			identity.WriteString(line + "\n")
		case "clock":
			at, err := strconv.ParseFloat(rest, 64)
			if err != nil || math.IsNaN(at) || math.IsInf(at, 0) || at < 0 || at > 1e11 {
				continue
			}
			if clocks++; clocks == 1 {
				f.Begin = at
			}
			f.End, f.Whole = at, f.Whole || !strings.Contains(rest, ".")
		case "osid":
			id = rest
		case "osversion":
			version = rest
		case "owner":
			if l, ok := parseOwner(fields); ok && len(owners) < mostFew {
				owners[Listen{Protocol: l.Protocol, Port: l.Port}] = l.Owner
			}
		case "end":
			ended = true
		}
	}
	f.Identity = machine.ParseIdentity(identity.Bytes())
	if f.OS = id; version != "" {
		f.OS += "-" + version
	}
	for i, l := range f.Listens {
		f.Listens[i].Owner = owners[Listen{Protocol: l.Protocol, Port: l.Port}]
	}
	if !ended || clocks < 2 {
		return f, ErrIncomplete
	}
	return f, nil
}

// texts read facts that are the rest of a line.
var texts = map[string]func(f *Facts, rest string){
	"uid":          func(f *Facts, rest string) { f.UID = rest },
	"user":         func(f *Facts, rest string) { f.User = rest },
	"kernel":       func(f *Facts, rest string) { f.Kernel = rest },
	"arch":         func(f *Facts, rest string) { f.Arch = rest },
	"hostname":     func(f *Facts, rest string) { f.Hostname = rest },
	"init":         func(f *Facts, rest string) { f.Init = rest },
	"machineid":    func(f *Facts, rest string) { f.MachineID = strings.ToLower(rest) },
	"uuid":         func(f *Facts, rest string) { f.UUID = strings.ToLower(rest) },
	"cpus":         func(f *Facts, rest string) { f.CPUs = whole(rest) },
	"memory":       func(f *Facts, rest string) { f.Memory = whole(rest) << 10 },
	"swaps":        func(f *Facts, _ string) { f.SwapsKnown = true },
	"swap":         func(f *Facts, rest string) { f.Swaps = few(f.Swaps, rest) },
	"cgroup":       func(f *Facts, rest string) { f.CgroupFS = rest },
	"controllers":  func(f *Facts, rest string) { f.Controllers = strings.Fields(rest) },
	"selinux":      func(f *Facts, rest string) { f.SELinux = rest },
	"apparmor":     func(f *Facts, rest string) { f.AppArmor = rest },
	"tool":         func(f *Facts, rest string) { f.Tools = few(f.Tools, rest) },
	"process":      func(f *Facts, rest string) { f.Processes = few(f.Processes, rest) },
	"kubernetes":   func(f *Facts, rest string) { f.Kubernetes = few(f.Kubernetes, rest) },
	"firewall":     func(f *Facts, rest string) { f.Firewalls = few(f.Firewalls, rest) },
	"synchronized": func(f *Facts, rest string) { f.Synchronized = rest },
	"nameserver":   func(f *Facts, rest string) { f.Nameservers = few(f.Nameservers, rest) },
	"upstream":     func(f *Facts, rest string) { f.Upstream = few(f.Upstream, rest) },
	"lookup": func(f *Facts, rest string) {
		f.Lookup, f.LookupKnown = time.Duration(min(whole(rest), 3600))*time.Second, true
	},
	"lock":        func(f *Facts, rest string) { f.Locks = few(f.Locks, rest) },
	"interrupted": func(f *Facts, _ string) { f.Interrupted = true },
	"df":          func(f *Facts, rest string) { f.DF = rest == "yes" },
	"machine": func(f *Facts, rest string) {
		if a, err := netip.ParseAddr(rest); err == nil {
			f.Machine = a.String()
		}
	},
}

// lists read facts with several values.
var lists = map[string]func(f *Facts, rest string, fields []string){
	"disk": func(f *Facts, _ string, v []string) {
		if len(v) != 7 || len(f.Disks) >= mostFew {
			if len(v) > 0 && len(f.Disks) < mostFew {
				f.Disks[v[0]] = Disk{SizeUnknown: true}
			}
			return
		}
		block := whole(v[2])
		size := func(n string) int64 {
			if block > 0 && whole(n) > math.MaxInt64/block {
				return math.MaxInt64
			}
			return block * whole(n)
		}
		f.Disks[v[0]] = Disk{Device: v[1], Size: size(v[3]), Free: size(v[4]), Inodes: whole(v[5]), InodesFree: whole(v[6])}
	},
	"apiname": readName,
	"mount": func(f *Facts, _ string, v []string) {
		if len(v) != 3 {
			return
		}
		if d, known := f.Disks[v[0]]; known {
			d.Point, d.Options = v[1], strings.Split(v[2], ",")
			f.Disks[v[0]] = d
		}
	},
	"route": func(f *Facts, _ string, v []string) {
		if len(v) != 2 || len(f.Routes) >= mostItems {
			return
		}
		if to, ok := prefix(v[0]); ok {
			f.Routes, f.RoutesKnown = append(f.Routes, Route{to, v[1]}), true
		}
	},
	"address": func(f *Facts, _ string, v []string) {
		if len(v) != 2 || len(f.Addresses) >= mostItems {
			return
		}
		f.RoutesKnown = true // ip works
		if p, err := netip.ParsePrefix(v[1]); err == nil {
			f.Addresses = append(f.Addresses, p.Addr().Unmap())
		}
	},
	"listen": func(f *Facts, _ string, v []string) {
		if len(v) != 3 || len(f.Listens) >= mostFew {
			return
		}
		port, err := strconv.ParseUint(v[1], 16, 16)
		l := Listen{Protocol: v[0], Port: int(port), Any: strings.Trim(v[2], "0") == ""}
		if err == nil && (v[0] == "tcp" || v[0] == "udp") && !slices.Contains(f.Listens, l) {
			f.Listens = append(f.Listens, l)
		}
	},
	"feature": func(f *Facts, _ string, v []string) {
		if len(v) >= 2 && len(f.Features) < mostFew {
			f.Features[v[0]] = Feature{Has: v[1], How: strings.Join(v[2:], " ")}
		}
	},
	"fsync": func(f *Facts, _ string, v []string) {
		if len(v) == 1 && len(f.Fsync) < 200 {
			if s, err := strconv.ParseFloat(v[0], 64); err == nil && s >= 0 && s < 3600 {
				f.Fsync = append(f.Fsync, time.Duration(s*float64(time.Second)))
			}
		}
	},
	"depot": func(f *Facts, _ string, v []string) {
		if len(v) < 4 {
			return
		}
		took, err := strconv.ParseFloat(v[3], 64)
		if err != nil || took < 0 || took > 3600 {
			took = 0
		}
		f.Download = &Download{Status: int(min(whole(v[0]), 255)), Code: int(min(whole(v[1]), 999)), Bytes: whole(v[2]),
			Took: time.Duration(took * float64(time.Second)), Why: strings.Join(v[4:], " ")}
	},
	"ping": func(f *Facts, _ string, v []string) {
		if (len(v) == 3 || len(v) == 4) && len(f.Pings) < mostItems {
			f.Pings[v[0]] = Ping{MTU: int(min(whole(v[1]), math.MaxInt32)), Largest: int(min(whole(v[2]), math.MaxInt32)), FragNeeded: len(v) == 4 && v[3] == "frag-needed"}
		}
	},
	"knock": func(f *Facts, _ string, v []string) {
		if len(v) == 4 && len(f.Knocks) < mostItems {
			f.Knocks[Knock{v[0], v[1], int(min(whole(v[2]), 65535))}] = v[3]
		}
	},
}

// whole returns a number of at least 0; 0 is also the value of a text that is none.
func whole(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>10 {
		return 0
	}
	return n
}

// few appends an item to a list that has a limit.
func few(list []string, item string) []string {
	if item == "" || len(list) >= mostFew {
		return list
	}
	return append(list, item)
}

// prefix parses the destination of a route.
func prefix(text string) (netip.Prefix, bool) {
	if text == "default" {
		return netip.Prefix{}, true
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, a.BitLen()), true
}

func parseOwner(v []string) (Listen, bool) {
	if len(v) != 3 {
		return Listen{}, false
	}
	return Listen{Protocol: v[0], Port: int(min(whole(v[1]), 65535)), Owner: v[2]}, true
}
