// Package coordinator runs studies. It lets invited clients join, begins a study when they have consented,
// sends plans, accepts answers, closes rounds at their deadline, and publishes the result at the end.
//
// A [Hub] is a state directory with its studies. Each [Study] implements [fedpvi/transport.Coordinator] for
// its clients. It runs one loop. The loop carries out together, in order, all commands that arrived while the
// disk was busy, and writes their changes in one transaction. A call returns, and a client sees an entry, only
// after the state behind it is safe on disk. When a transaction fails, the study returns to the state on disk.
//
// A coordinator that is killed at any instant therefore continues with the same round when it starts again,
// and every entry that a client has seen is still there, byte for byte.
//
// Time comes from a clock function of the caller. The package draws no noise, and logs nothing that is
// derived from records.
package coordinator
