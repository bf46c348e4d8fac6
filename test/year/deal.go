package year

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Version is that of the list of operations. The same seed gives the same steps only with the same version.
const Version = 3

// stream is the second half of the seed of the source of random numbers. It stays in a new version, because the seed
// of Season was chosen for it.
const stream = 1

// FormatSeed returns the text of a seed, with the version for which it is.
func FormatSeed(seed uint64) string { return fmt.Sprintf("%d-%d", Version, seed) }

// ParseSeed reads a number, or the text of FormatSeed. The text of another version is an error.
func ParseSeed(text string) (uint64, error) {
	version, number, found := strings.Cut(text, "-")
	if !found {
		version, number = strconv.Itoa(Version), text
	}
	seed, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("seed %q: want a number, or %d-NUMBER", text, Version)
	}
	if version != strconv.Itoa(Version) {
		return 0, fmt.Errorf("seed %q is for version %s of the operations, and this is version %d: play it at a commit of that version", text, version, Version)
	}
	return seed, nil
}

// Step is an operation, what happens meanwhile, and the world after it.
type Step struct {
	Number    int // from 1
	Operation string
	Argument  string // what it is about, such as the name of a worker; often empty
	Meanwhile string // empty: nothing
	After     World
}

// String returns the step in one line.
func (s Step) String() string {
	text := fmt.Sprintf("step %d: %s", s.Number, s.Operation)
	if s.Argument != "" {
		text += " (" + s.Argument + ")"
	}
	if s.Meanwhile != "" {
		text += ", meanwhile: " + s.Meanwhile
	}
	return text
}

// What happens while a change is made.
const (
	KillController = "the controller is killed again and again"
	KillWebhook    = "the webhook is killed"
	KillDepot      = "the depot is killed"
	KillTask       = "the pod of the playbook is killed"
	Pause          = "paused, and resumed"
	Cancel         = "cancelled, and tried again"
	TwoEdits       = "an edit, and another one in the same second"
	ApplyConfig    = "config/ is applied again"
)

// Events are all that can happen meanwhile.
var Events = []string{KillTask, Pause, Cancel, TwoEdits, KillController, KillWebhook, KillDepot, ApplyConfig}

// anyRun are the events for operations that start any run. The others need a playbook that makes or removes nodes.
var anyRun = []string{KillController, KillWebhook, KillDepot, ApplyConfig}

// Operations during which something can happen.
var (
	playbooks = []string{AddWorker, RemoveWorker, GrowPool, ShrinkPool, ThreePlanes, OnePlane}
	others    = []string{AddPlugin, RemovePlugin, AddDrained, AddRebooted, RemovePackages, NarrowVariable, DrainingVariable, PoolVariable, UpgradePatch, UpgradeMinor, LoseWorker, LosePlane, Exchange}
)

// Names returns the names of all operations.
func Names() []string {
	var names []string
	for _, o := range operations {
		names = append(names, o.name)
	}
	return names
}

// Deal returns the first steps of a seed, from a world. The operations are dealt like cards: none comes again before all
// others that are possible have come.
func Deal(seed uint64, from World, steps int) []Step {
	return newDealer(seed, from, Names()).deal(steps)
}

// All returns steps in which each operation but those of without comes at least once, and each event too. An
// operation comes again only if it makes another one possible.
func All(seed uint64, from World, without ...string) []Step {
	d := newDealer(seed, from, slices.DeleteFunc(Names(), func(name string) bool { return slices.Contains(without, name) }))
	d.all = true
	for len(d.seen) < len(d.names) {
		d.next()
	}
	return d.steps
}

// quick are operations that take a minute or two, from the newest Kubernetes on.
var quick = []string{
	AddWorker, RemoveWorker, ReorderWorkers, GrowPool, ShrinkPool, AddStandby, RemoveStandby, AddPlugin, RemovePlugin, AddDrained, AddRebooted, RemovePackages,
	NarrowVariable, Rotate, LoseKubeconfig, BackUp, LoseWorker, Exchange, Silence, AddOther, RemoveOther,
}

// Season returns the steps of a short year, from New(Newest): a node set grows while the pod of its playbook is killed,
// the kubeconfig is rotated, a backup is made, the node set shrinks during two edits, a package drains nodes while
// controllers are killed, the machine of a worker is exchanged, and a plugin comes. The seed was chosen for that.
func Season() []Step { return newDealer(1625377, New(Newest), quick).deal(7) }

// SeasonHosts is the number of machines that Season needs, with a free one for an exchange.
const SeasonHosts = 5

// dealer deals steps.
type dealer struct {
	random *rand.Rand
	names  []string // of the operations that it deals
	deck   []string // operations that have not come since it was shuffled
	events []string // events that have not come since they were shuffled
	seen   map[string]bool
	world  World
	steps  []Step
	all    bool // all events are to come too: one with each operation that can have one
}

func newDealer(seed uint64, from World, names []string) *dealer {
	return &dealer{random: rand.New(rand.NewPCG(seed, stream)), names: names, seen: map[string]bool{}, world: from.clone()}
}

// deal deals steps until there are so many, and returns all.
func (d *dealer) deal(steps int) []Step {
	for len(d.steps) < steps {
		d.next()
	}
	return d.steps
}

// next deals one step.
func (d *dealer) next() {
	if len(d.deck) == 0 {
		d.deck = d.shuffled(d.names)
	}
	for i, name := range d.deck {
		if after, argument, ok := d.try(d.world, name); ok {
			d.deck = slices.Delete(d.deck, i, i+1)
			d.take(name, argument, after)
			return
		}
	}
	// None of the deck is possible now. Take an operation that makes one possible, or else any.
	more := d.shuffled(d.names)
	helps := func(name string) bool {
		after, _, ok := d.try(d.world, name)
		return ok && slices.ContainsFunc(d.deck, func(card string) bool { _, _, can := d.try(after, card); return can })
	}
	possible := func(name string) bool { _, _, ok := d.try(d.world, name); return ok }
	i := slices.IndexFunc(more, helps)
	if i < 0 {
		i = slices.IndexFunc(more, possible) // Rotate always is
	}
	after, argument, ok := d.try(d.world, more[i])
	for !ok { // the argument that was drawn is not possible, such as a plugin that is there
		after, argument, ok = d.try(d.world, more[i])
	}
	d.take(more[i], argument, after)
}

func (d *dealer) shuffled(names []string) []string {
	all := slices.Clone(names)
	d.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// try returns the world after an operation, if it is possible.
func (d *dealer) try(from World, name string) (after World, argument string, ok bool) {
	o := operations[slices.IndexFunc(operations, func(o operation) bool { return o.name == name })]
	after = from.clone()
	argument, ok = o.apply(&after, d.random)
	return after, argument, ok && after.Machines() <= most
}

// take appends a step.
func (d *dealer) take(name, argument string, after World) {
	d.world, d.seen[name] = after, true
	d.steps = append(d.steps, Step{Number: len(d.steps) + 1, Operation: name, Argument: argument, Meanwhile: d.event(name), After: after.clone()})
}

// event returns what happens during an operation: something in every second one that can have it.
func (d *dealer) event(operation string) string {
	playbook := slices.Contains(playbooks, operation)
	if !playbook && !slices.Contains(others, operation) || !d.all && d.random.IntN(2) == 0 {
		return ""
	}
	if len(d.events) == 0 {
		d.events = d.shuffled(Events)
	}
	i := slices.IndexFunc(d.events, func(e string) bool { return playbook != slices.Contains(anyRun, e) })
	if i < 0 && playbook {
		i = 0 // only such that any run can have are left
	}
	if i < 0 {
		return ""
	}
	e := d.events[i]
	d.events = slices.Delete(d.events, i, i+1)
	return e
}
