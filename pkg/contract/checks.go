package contract

// Checks are what a run has found out about the hosts that are to become nodes, before it has changed them.
type Checks struct {
	// Findings are what is not as it should be, the worst first; empty: there is nothing. Omitted is the number of further ones.
	Findings []CheckFinding `json:"findings,omitempty"`
	Omitted  int            `json:"omitted,omitempty"`
}

// CheckFinding is what one check has found out about one or several hosts.
type CheckFinding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"` // error, warning or unknown
	// Hosts are the names of the first nodes, of HostCount ones. Empty: the finding is about the bootstrap machine, or about all hosts.
	Hosts     []string `json:"hosts,omitempty"`
	HostCount int      `json:"hostCount,omitempty"`
	// Message is what was seen on the first of them.
	Message string `json:"message"`
}

// Limits of Checks, because the status of each cluster has them. That of the text is in bytes.
const (
	MostFindings     = 16
	MostFindingHosts = 8
	MostFindingText  = 300
)
