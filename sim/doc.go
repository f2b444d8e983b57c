// Package sim runs a whole federation in one process: the clients' sites and the coordinator's
// server of package pvi, driven by messages in virtual time, with seeded randomness. The same
// study, seed and program yield the same bits with any number of workers.
//
// It is for research. The seed is known, so its releases protect nobody, and it computes values
// that no federation could, such as the pooled posterior ([Reference]).
package sim
