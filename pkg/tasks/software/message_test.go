package software

import (
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	long := "install.sh ended with exit status 3:\n" + strings.Repeat("noise noise noise\n", 100) + "password=hunter2\nno such device"
	got := shorten(long)
	if !strings.HasPrefix(got, "install.sh ended with exit status 3:\n...noise") || !strings.HasSuffix(got, "\npassword=[hidden]\nno such device") || len(got) > mostMessage {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := shorten("short\x1b[0m\n"); got != "short[0m" {
		t.Errorf("%q", got)
	}
	if got := shorten(strings.Repeat("x", 2000)); len(got) != mostMessage || !strings.HasPrefix(got, "...x") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
