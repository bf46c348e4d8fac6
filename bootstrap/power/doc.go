// Package power tests what a power cut loses: nothing that etcd or the depot has acknowledged.
//
// The tests cut the power of a disk: an ext4 file system on a loop device, which stops in the middle of the writes
// (EXT4_IOC_SHUTDOWN without a flush of the journal). What a program has written but not synced is lost, as by a real
// cut. What the file system has handed to the disk counts as stored, so a disk that loses its own cache is not tested.
//
// The tests need root, loop devices and mkfs.ext4, and the programs in $BPA_STATE/bin (machine build). They are only
// built with -tags integration. BPA_POWER_CUTS is the number of cuts.
package power
