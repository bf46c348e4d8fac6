package plan

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// longestPluginText limits the message of one plugin and the output of its test, in bytes.
const longestPluginText = 512

// reportPlugins lists the requested plugins in the order of their needs, and then those that are being removed.
func reportPlugins(status *v1alpha1.ProvisioningStatus, s Seen) {
	if s.Plugins.Problem != "" && s.Complete() { // what is requested is not known
		return
	}
	status.Plugins = nil
	for _, p := range s.Request.Plugins {
		row := v1alpha1.PluginStatus{Name: p.Name, Version: p.Version, State: v1alpha1.PluginPending, Message: p.Skip, NeededBy: p.NeededBy}
		if seen := s.Plugins.row(p.Name); seen != nil {
			fillPlugin(&row, *seen)
		}
		status.Plugins = append(status.Plugins, row)
	}
	for _, name := range s.surplusPlugins() {
		row := v1alpha1.PluginStatus{Name: name}
		fillPlugin(&row, *s.Plugins.row(name))
		row.State = v1alpha1.PluginRemoving
		status.Plugins = append(status.Plugins, row)
	}
}

// fillPlugin writes the record of a plugin into its status.
func fillPlugin(row *v1alpha1.PluginStatus, seen contract.PluginStatus) {
	row.State, row.Message, row.LastTransitionTime = v1alpha1.PluginState(seen.State), cut(seen.Message, longestPluginText), instant(seen.Since)
	if seen.Version != "" {
		row.Version = seen.Version
	}
	if seen.Test.State != "" {
		row.Test = &v1alpha1.PluginTestStatus{State: string(seen.Test.State), Message: cut(seen.Test.Message, longestPluginText)}
	}
}

// pluginsInstalled computes the condition PluginsInstalled. Its True counts the skipped plugins apart.
func (c conditions) pluginsInstalled() (corev1.ConditionStatus, string, string) {
	s := c.seen
	switch {
	case s.Deleting:
		return corev1.ConditionUnknown, ReasonDeleting, c.words()
	case s.Plugins.Problem != "":
		return corev1.ConditionFalse, ReasonPlugins, cut(s.Plugins.Problem, longestMessage)
	case len(s.Request.Plugins)+len(s.surplusPlugins()) == 0:
		return corev1.ConditionTrue, v1alpha1.ReasonNoPlugins, "spec.KUDPlugins is empty"
	case c.pluginsFail():
		return corev1.ConditionFalse, c.status.Failure.Reason, c.failureText()
	case s.installing():
		return corev1.ConditionUnknown, ReasonRunning, c.pluginsProgress()
	case !s.Complete():
		return corev1.ConditionUnknown, v1alpha1.ReasonWaiting, "the cluster is not installed yet"
	case s.PluginChange() != "":
		return c.changingPlugins()
	}
	return corev1.ConditionTrue, ReasonInstalled, countPlugins(c.status.Plugins) + s.newerPlugins()
}

// pluginsFail reports whether the newest run, which failed, was only to install plugins, or had nothing else left to do.
func (c conditions) pluginsFail() bool {
	newest := c.seen.Newest()
	return c.failure() != nil && newest.built() && c.seen.Complete()
}

// installing reports whether the active run installs plugins now, or does nothing else.
func (s Seen) installing() bool {
	newest := s.Newest()
	return newest != nil && newest.State == Active && (newest.Operation == contract.OperationPlugins || newest.task(contract.TaskInstallPlugins) != nil)
}

// pluginsProgress describes what a run that installs plugins does.
func (c conditions) pluginsProgress() string {
	for _, p := range c.status.Plugins {
		switch p.State {
		case v1alpha1.PluginInstalling:
			return strings.TrimRight("installing "+p.Name+": "+p.Message, ": ")
		case v1alpha1.PluginRemoving:
			return strings.TrimRight("removing "+p.Name+": "+p.Message, ": ")
		}
	}
	return "run " + c.seen.Newest().Name + " is running"
}

// changingPlugins returns PluginsInstalled while plugins wait for their run. It is False if a user must act.
func (c conditions) changingPlugins() (corev1.ConditionStatus, string, string) {
	reason, text := c.step.Reason, "next: "+c.seen.PluginChange()
	status := corev1.ConditionUnknown
	switch {
	case reason == ReasonInstalled:
		reason = ReasonStarting
	case slices.Contains(personMustAct, reason):
		status = corev1.ConditionFalse
	}
	switch {
	case c.step.Do == StartRun && c.step.Operation == contract.OperationPlugins:
		text = c.words()
	case c.words() != "":
		text = c.words() + "; " + text
	}
	return status, reason, cut(text, longestMessage)
}

// countPlugins counts the plugins by their states, such as "2 installed, 1 skipped (qat: no node has QAT)".
func countPlugins(all []v1alpha1.PluginStatus) string {
	installed := 0
	var skipped []string
	for _, p := range all {
		switch p.State {
		case v1alpha1.PluginSkipped:
			skipped = append(skipped, strings.TrimRight(p.Name+": "+p.Message, ": "))
		case v1alpha1.PluginInstalled:
			installed++
		}
	}
	text := fmt.Sprintf("%d installed", installed)
	if len(skipped) > 0 {
		text += fmt.Sprintf(", %d skipped (%s)", len(skipped), some(skipped, "; "))
	}
	return text
}
