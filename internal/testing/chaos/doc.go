// Package chaos plays whole federations in one process, with the daemons' own state
// machines and stores, under a clock that is not real and with faults that a seed chooses:
// processes are killed at any write, writes are torn or fail, disks are full, messages are
// lost, late or double, clocks jump, clients are slow or absent. A model looks at what
// everybody says and keeps, and knows what must hold.
//
// All of it is test code: see docs/develop/chaos.md for what is simulated, what is checked and how
// to run it.
package chaos
