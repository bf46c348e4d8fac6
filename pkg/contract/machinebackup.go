package contract

// The ConfigMap in the namespace of the controller in which the bootstrap machine says when it was backed up. The bootstrap
// module has the same values in internal/backup.
const (
	MachineBackupName   = "machine-backup"
	MachineBackupTime   = "time"   // of the last backup (RFC 3339); none: there is none
	MachineBackupFailed = "failed" // when the last attempt has failed (RFC 3339); none: it has not
	MachineBackupEvery  = "every"  // the interval; none: the machine is not backed up
)
