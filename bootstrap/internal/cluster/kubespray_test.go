package cluster

import (
	"os"
	"strings"
	"testing"
)

func TestReleaseHasTasksOfItsOwn(t *testing.T) {
	config := os.DirFS("../../../config")
	text, err := releaseTasks(config, StandIn)
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, text)
	for _, want := range []string{"Task/kubespray-stand-in", "Task/seed-registry-stand-in", "Task/install-plugins-stand-in", "Task/install-software-stand-in"} {
		if all[want].Metadata.Namespace != projectNamespace {
			t.Errorf("no %s in %s: %v", want, projectNamespace, all)
		}
	}
	if len(all) != 4 || strings.Count(string(text), "image: ko://") != 5 {
		t.Errorf("want four Tasks with five steps that ko builds:\n%s", text)
	}
}
