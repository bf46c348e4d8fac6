package cluster

import (
	"os"
	"strings"
	"testing"
)

func TestReleaseHasTasksOfItsOwn(t *testing.T) {
	config := os.DirFS("../../../config")
	text, err := releaseTasks(config, KubesprayRelease)
	if err != nil {
		t.Fatal(err)
	}
	all := objects(t, text)
	for _, want := range []string{"Task/kubespray-v2.31.0", "Task/seed-registry-v2.31.0"} {
		if all[want].Metadata.Namespace != projectNamespace {
			t.Errorf("no %s in %s: %v", want, projectNamespace, all)
		}
	}
	if len(all) != 2 || strings.Count(string(text), "image: ko://") != 3 {
		t.Errorf("want two Tasks with three steps that ko builds:\n%s", text)
	}
}
