package session

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func TestPrintable(t *testing.T) {
	if got := FirstItems([]string{"a\x1b[31m\n", "b", "c", "d"}); got != "a?[31m?, b and 2 more" {
		t.Errorf("few = %q", got)
	}
	if got := DescribeOwner(contract.User{Name: "$(reboot)\x1b", UID: "u"}); strings.Contains(got, "\x1b") {
		t.Errorf("whose = %q", got)
	}
}
