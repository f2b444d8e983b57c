// Package coordinator runs studies. A coordinator lets invited clients join, and begins a study
// when the clients have consented. It sends plans, accepts answers, closes rounds at their
// deadline, and publishes the result.
//
// A [Hub] is a state directory and the studies in it. Each [Study] implements
// [fedpvi/transport.Coordinator] for its clients. One goroutine per study, the study's loop, makes
// all changes: it carries out the commands that are waiting, in order, and writes all their changes
// in one transaction. A call returns only after its changes are on disk, and clients see an entry
// only after the entry is on disk. If a transaction fails, the study returns to the state on disk.
//
// A coordinator can be killed at any instant. When it starts again, it continues with the same
// round. Every entry that a client has seen is still there, byte for byte.
//
// The caller supplies the clock. The package draws no noise, and logs nothing that is derived from
// records.
package coordinator
