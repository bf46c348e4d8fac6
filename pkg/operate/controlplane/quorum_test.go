package controlplane

import (
	"os"
	"strings"
	"testing"
)

// The advice about a lost majority names a section that exists.
func TestAdviceAboutALostMajority(t *testing.T) {
	text, err := os.ReadFile("../../../docs/kubespray.md")
	if err != nil || !strings.Contains(string(text), "\n### "+recoverySection+"\n") || !strings.Contains(QuorumAdvice, recoverySection) {
		t.Errorf("docs/kubespray.md has no section %q (%v)", recoverySection, err)
	}
}
