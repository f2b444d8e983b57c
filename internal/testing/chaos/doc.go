// Package chaos plays whole federations in one process, with the daemons' own state machines and
// stores, in simulated time and with faults chosen by a seed: processes are killed at any write,
// writes are torn or fail, disks are full, messages are lost, late or repeated, clocks jump,
// clients are slow or absent. A model of the protocol checks every message and all stored state.
//
// All of it is test code. docs/develop/chaos.md describes the simulation, the checks and their
// limits.
package chaos
