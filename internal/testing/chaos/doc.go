// Package chaos tests the protocol under faults. It simulates whole federations in one process and
// in simulated time, with the state machines and stores of the real daemons. A seed chooses the
// faults: processes are killed at any write, writes are torn or fail, disks are full, messages are
// lost, late or repeated, clocks jump, and clients are slow or absent. A model of the protocol
// checks every message and all stored state.
//
// The package contains only tests. docs/develop/chaos.md describes the simulation, its checks, and
// their limits.
package chaos
