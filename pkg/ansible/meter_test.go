package ansible

import (
	"fmt"
	"os"
	"testing"
	"testing/fstest"
)

func TestMeterNeverGoesBackNorEnds(t *testing.T) {
	for _, expected := range []int{-1, 0, 1, 10, 213, 1212} {
		t.Run(fmt.Sprint(expected), func(t *testing.T) {
			m := NewMeter(expected)
			last := 0
			for i := range 5000 {
				m.See(Event{Kind: TaskStart, Task: fmt.Sprint(i)})
				if p := m.Percent(); p < last || p > 99 {
					t.Fatalf("after %d tasks %d%%, before %d%%", i, p, last)
				}
				last = m.Percent()
			}
			if last < 90 || m.Step() != "4999" || m.Started() != 5000 {
				t.Errorf("at the end %d%%, step %s, %d tasks", last, m.Step(), m.Started())
			}
		})
	}
}

func TestMeterCountsTasksNotHosts(t *testing.T) {
	m := NewMeter(11)
	for _, e := range recorded(t, "green") {
		m.See(e)
	}
	if m.Started() != 11 {
		t.Errorf("%d tasks, want 8 in step, 1 handler, 2 at each host's own pace", m.Started())
	}
	if p := m.Percent(); p < 95 {
		t.Errorf("%d%% at the end", p)
	}
}

func TestCountTasks(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"cluster.yml":                     "- import_playbook: playbooks/cluster.yml\n",
		"playbooks/cluster.yml":           "- {hosts: all, roles: [prepare, {role: net/cni, when: x}]}\n- {hosts: all, gather_facts: false, pre_tasks: [{debug: {}}], tasks: [{import_role: {name: prepare, tasks_from: late.yml}}]}\n",
		"roles/prepare/tasks/main.yml":    "- {name: a, debug: {}}\n- {block: [{debug: {}}, {include_tasks: more.yml}], rescue: [{debug: {}}], always: [{debug: {}}]}\n",
		"roles/prepare/tasks/more.yml":    "- {debug: {}}\n- {ansible.builtin.include_tasks: {file: '{{ x }}.yml'}}\n- {import_tasks: main.yml, when: never}\n",
		"roles/prepare/tasks/late.yml":    "- {debug: {}}\n- {include_role: {name: net/cni}, when: x}\n",
		"roles/net/cni/tasks/main.yml":    "- {debug: {}}\n",
		"roles/net/cni/meta/main.yml":     "dependencies: [{role: common}]\n",
		"roles/common/tasks/main.yml":     "- {debug: {}}\n",
		"roles/unused/tasks/main.yml":     "- {debug: {}}\n",
		"playbooks/unreadable-sibling.md": "none",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	// The role prepare includes itself, but the counting ends.
	if n := CountTasks(files, "cluster.yml"); n < 14 {
		t.Errorf("CountTasks() = %d", n)
	}
	delete(files, "roles/prepare/tasks/more.yml")
	// Expected tasks, in order: 1 for facts, 4 for the role prepare (one of them an include, one in
	// "always"), 1 for the role common, 1 for cni, 1 in pre_tasks, 2 for late (one of them an
	// include), and then common and cni again, 1 each.
	if n := CountTasks(files, "cluster.yml"); n != 12 {
		t.Errorf("CountTasks() = %d, want 12", n)
	}
	if n := CountTasks(files, "missing.yml"); n != 0 {
		t.Errorf("CountTasks() of a missing playbook = %d", n)
	}
}

func TestCountTasksOfRecorded(t *testing.T) {
	if n := CountTasks(os.DirFS("testdata/playbooks"), "green.yml"); n != 9 {
		t.Errorf("CountTasks() = %d, want 9: all but the rescue and the handler", n)
	}
}
