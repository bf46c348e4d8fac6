package year

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Names of the operations.
const (
	AddWorker        = "add a worker"
	RemoveWorker     = "remove a worker"
	ReorderWorkers   = "reorder the workers"
	GrowPool         = "grow the node set"
	ShrinkPool       = "shrink the node set"
	AddStandby       = "add a standby"
	RemoveStandby    = "remove the standby"
	ThreePlanes      = "three control planes"
	OnePlane         = "one control plane"
	AddPlugin        = "add a plugin"
	RemovePlugin     = "remove a plugin"
	AddDrained       = "add a package with a drain"
	AddRebooted      = "add a package with a reboot"
	RemovePackages   = "remove the packages"
	NarrowVariable   = "change a variable without a drain"
	DrainingVariable = "change a variable with a drain"
	PoolVariable     = "change a variable of the node set"
	UpgradePatch     = "upgrade the patch version"
	UpgradeMinor     = "upgrade the minor version"
	PatchSystems     = "patch the operating systems"
	Rotate           = "rotate the kubeconfig"
	LoseKubeconfig   = "lose the kubeconfig"
	LoseSSHKey       = "lose the SSH key of the cluster"
	BackUp           = "back up"
	Restore          = "lose the control plane and restore it"
	LoseWorker       = "lose a worker for good"
	LosePlane        = "lose a control plane for good"
	Exchange         = "exchange a worker's machine"
	Silence          = "a machine is silent and comes back"
	AddOther         = "a second cluster"
	RemoveOther      = "delete the second cluster"
)

// operation is something that happens to the site. apply changes w to the world after it, and returns what it
// is about, such as the name of a worker. It is not possible now if ok is false.
type operation struct {
	name  string
	apply func(w *World, r *rand.Rand) (argument string, ok bool)
}

// Variables of kubespray that are changed, and their values.
const (
	Narrow   = "dns_memory_limit"
	Draining = "kubelet_max_pods"
)

var (
	plugins         = []string{"nfd", "multus", "metrics-server"}
	narrowValues    = []string{`"180Mi"`, `"190Mi"`, `"200Mi"`}
	drainingValues  = []string{"100", "105", "110"}
	poolValues      = []string{"90", "95", ""}
	drained, reboot = "bpa-e2e-tool!Drain", "bpa-e2e-driver!Reboot"
)

// operations are all operations. A change of this list, or of what one draws from its source of random numbers, is
// another Version.
var operations = []operation{
	{AddWorker, func(w *World, _ *rand.Rand) (string, bool) {
		name := ""
		for i := 1; name == "" || slices.Contains(w.Workers, name); i++ {
			name = "worker-" + strconv.Itoa(i)
		}
		w.Workers = append(w.Workers, name)
		return name, len(w.Workers) <= 3
	}},
	{RemoveWorker, func(w *World, r *rand.Rand) (string, bool) {
		if len(w.Workers) < 2 {
			return "", false
		}
		i := r.IntN(len(w.Workers))
		name := w.Workers[i]
		w.Workers = slices.Delete(w.Workers, i, i+1)
		return name, true
	}},
	{ReorderWorkers, func(w *World, _ *rand.Rand) (string, bool) {
		slices.Reverse(w.Workers)
		return "", len(w.Workers) > 1
	}},
	{GrowPool, func(w *World, _ *rand.Rand) (string, bool) { w.Pool++; return "", w.Pool <= 2 }},
	{ShrinkPool, func(w *World, _ *rand.Rand) (string, bool) { w.Pool--; return "", w.Pool >= 1 }},
	{AddStandby, func(w *World, _ *rand.Rand) (string, bool) { w.Standby++; return "", w.Standby == 1 }},
	{RemoveStandby, func(w *World, _ *rand.Rand) (string, bool) { w.Standby--; return "", w.Standby == 0 }},
	{ThreePlanes, func(w *World, _ *rand.Rand) (string, bool) { one := w.Planes == 1; w.Planes = 3; return "", one }},
	{OnePlane, func(w *World, _ *rand.Rand) (string, bool) { three := w.Planes == 3; w.Planes = 1; return "", three }},
	{AddPlugin, func(w *World, r *rand.Rand) (string, bool) {
		name := plugins[r.IntN(len(plugins))]
		there := slices.Contains(w.Plugins, name)
		w.Plugins = append(w.Plugins, name)
		return name, !there
	}},
	{RemovePlugin, func(w *World, r *rand.Rand) (string, bool) {
		if len(w.Plugins) == 0 {
			return "", false
		}
		i := r.IntN(len(w.Plugins))
		name := w.Plugins[i]
		w.Plugins = slices.Delete(w.Plugins, i, i+1)
		return name, true
	}},
	{AddDrained, func(w *World, _ *rand.Rand) (string, bool) { return add(w, drained) }},
	{AddRebooted, func(w *World, _ *rand.Rand) (string, bool) { return add(w, reboot) }},
	{RemovePackages, func(w *World, _ *rand.Rand) (string, bool) {
		some := len(w.Packages) > 0
		w.Packages = nil
		return "", some
	}},
	{NarrowVariable, func(w *World, r *rand.Rand) (string, bool) { return set(w, r, Narrow, narrowValues) }},
	{DrainingVariable, func(w *World, r *rand.Rand) (string, bool) { return set(w, r, Draining, drainingValues) }},
	{PoolVariable, func(w *World, r *rand.Rand) (string, bool) {
		value := poolValues[r.IntN(len(poolValues))]
		same := w.PoolVariable == value
		w.PoolVariable = value
		return Draining + "=" + cmp.Or(value, "that of the cluster"), !same && w.Pool > 0
	}},
	{UpgradePatch, func(w *World, _ *rand.Rand) (string, bool) { return upgrade(w, Patched, Newest) }},
	{UpgradeMinor, func(w *World, _ *rand.Rand) (string, bool) { return upgrade(w, Older, Patched) }},
	{PatchSystems, func(w *World, _ *rand.Rand) (string, bool) { w.Patches++; return strconv.Itoa(w.Patches), true }},
	{Rotate, always},
	{LoseKubeconfig, always},
	{LoseSSHKey, always},
	{BackUp, func(w *World, _ *rand.Rand) (string, bool) { w.Backup = true; return "", true }},
	{Restore, func(w *World, _ *rand.Rand) (string, bool) { return "master-1", w.Planes == 1 && w.Backup }},
	{LoseWorker, func(w *World, r *rand.Rand) (string, bool) { return oneOf(w, r) }},
	{LosePlane, func(w *World, r *rand.Rand) (string, bool) {
		return "master-" + strconv.Itoa(1+r.IntN(3)), w.Planes == 3
	}},
	{Exchange, func(w *World, r *rand.Rand) (string, bool) { return oneOf(w, r) }},
	{Silence, func(w *World, r *rand.Rand) (string, bool) { return oneOf(w, r) }},
	{AddOther, func(w *World, _ *rand.Rand) (string, bool) { no := !w.Other; w.Other = true; return "", no }},
	{RemoveOther, func(w *World, _ *rand.Rand) (string, bool) { yes := w.Other; w.Other = false; return "", yes }},
}

func always(*World, *rand.Rand) (string, bool) { return "", true }

func oneOf(w *World, r *rand.Rand) (string, bool) { return w.Workers[r.IntN(len(w.Workers))], true }

func add(w *World, entry string) (string, bool) {
	there := slices.Contains(w.Packages, entry)
	w.Packages = append(w.Packages, entry)
	return entry, !there
}

func set(w *World, r *rand.Rand, name string, values []string) (string, bool) {
	value := values[r.IntN(len(values))]
	same := w.Variables[name] == value
	w.Variables[name] = value
	return name + "=" + value, !same
}

func upgrade(w *World, from, to string) (string, bool) {
	can := w.Kubernetes == from
	w.Kubernetes = to
	return to, can
}
