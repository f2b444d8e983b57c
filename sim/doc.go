// Package sim runs a whole federation in one process. It connects the clients' sites and the
// coordinator's server of package pvi, which exchange messages in virtual time. All randomness is
// seeded. The same study, seed and program give the same bits with any number of workers.
//
// The package is for research. Its releases protect no record, because the seed is known. It also
// computes values that a real federation could not compute, such as the pooled posterior
// ([Reference]).
package sim
