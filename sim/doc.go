// Package sim plays a whole federation in one process: the clients' sites and the
// coordinator's server of package pvi, driven by messages in a virtual time, with
// seeded randomness. The same study, seed and program give the same bits, at any
// number of workers.
//
// It is for research: the seed is known, so nothing that it releases is private
// in earnest, and it may look at what no federation could, such as the pooled
// posterior ([Reference]).
package sim
