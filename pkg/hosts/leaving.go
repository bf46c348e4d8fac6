package hosts

import "strings"

// Leaving is a host that is being released. It stays held until Metal3 has removed the operating
// system that BPA has requested.
type Leaving struct {
	Host string
	// State is Metal3's state of the host, such as deprovisioning.
	State string
	// Error describes why Metal3 fails, in words that complete "host-1 is ..."; empty: it does not
	// fail.
	Error string
}

func (l Leaving) String() string {
	text := l.Host + " (" + l.State
	if l.Error != "" {
		text += ", " + l.Error
	}
	return text + ")"
}

// LeavingText lists hosts that are being released, for a message. It names at most the first five.
func LeavingText(all []Leaving) string {
	const most = 5
	var texts []string
	for _, l := range all[:min(len(all), most)] {
		texts = append(texts, l.String())
	}
	if len(all) > most {
		texts = append(texts, "and more")
	}
	return strings.Join(texts, ", ")
}
