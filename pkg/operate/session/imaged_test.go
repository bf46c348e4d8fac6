package session_test

import (
	"io"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A host keeps its UID when BPA images it again, but its host key is new.
func TestHostKeyOfAHostThatWasImagedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(w *kubespraytest.Fixture)
		want  contract.Reason // empty: the new key is pinned
	}{
		"imaged again":            {func(*kubespraytest.Fixture) {}, ""},
		"never used":              {func(w *kubespraytest.Fixture) { w.Record("{}") }, ""},
		"used since its image":    {func(w *kubespraytest.Fixture) { w.Record(`{"uid-1":"used","uid-2":"used"}`) }, contract.ReasonHostKeyChanged},
		"of an older build":       {func(w *kubespraytest.Fixture) { w.Installed.Data = nil }, contract.ReasonHostKeyChanged},
		"not imaged by BPA":       {func(w *kubespraytest.Fixture) { w.In.Request.OSImage = nil }, contract.ReasonHostKeyChanged},
		"no MAC address is known": {func(w *kubespraytest.Fixture) { w.In.Nodes[1].MACs = nil }, contract.ReasonHostKeyChanged},
		"another machine": {func(w *kubespraytest.Fixture) {
			w.Answers(map[int]func(io.Writer) int{1: kubespraytest.Says("name db-7", "card eno1 aa:bb:cc:00:00:01")})
		}, contract.ReasonWrongMachine},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 1)
			old, _ := sshtest.NewKey(t)
			w.Pin("uid-2", old.PublicKey())
			w.Record(`{"uid-1":"used","uid-2":"clean"}`)
			w.In.Request.OSImage = &contract.OSImage{URL: "http://depot/image"}
			tc.spoil(w)
			_, err := w.Run()
			pins, parse := ssh.ParsePins(w.KnownHosts.Data[contract.KeyKnownHosts])
			if parse != nil {
				t.Fatal(parse)
			}
			pinned := ssh.Fingerprint(pins.Of("uid-2"))
			if tc.want != "" {
				if err == nil {
					t.Fatalf("no error; pinned %s", pinned)
				}
				if f := task.FailureOf(err); f.Reason != tc.want || f.Host != "worker-1" || pinned != ssh.Fingerprint(old.PublicKey()) {
					t.Errorf("failure %+v; pinned %s", f, pinned)
				}
				w.ExpectUntouched()
				return
			}
			fresh := ssh.Fingerprint(w.HostKey.PublicKey())
			if err != nil || pinned != fresh {
				t.Fatalf("pinned %s, want %s; %v\n%s", pinned, fresh, err, &w.Log)
			}
			if want := "its host key " + fresh + " replaces the pinned " + ssh.Fingerprint(old.PublicKey()); !strings.Contains(w.Log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, &w.Log)
			}
		})
	}
}
