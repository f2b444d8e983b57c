// Package pvi is partitioned variational inference (Bui et al. 2018; Ashman et al. 2022) with
// differential privacy. It has two state machines: [Server] owns the posterior, and [Site] owns one
// client's records and factor.
//
// The posterior is q(θ) ∝ p(θ) ∏ t_m(θ), with one factor t_m per client. The natural parameters of
// the posterior are λ = λ_prior + Σ λ_m. A round has three messages:
//
//	plan    server → clients   the clients that answer it, and the λ that they work on
//	release client → server    the numbers that the client releases
//	outcome server → clients   the sum of the releases, and whether λ moved
//
// A [Protocol] has all settings that both sides share. It is derived from a study and a roster.
//
// This package reads no file, socket or clock, and randomness is an argument. A machine that is
// saved and restored continues as if it had never stopped. The coordinator, the clients and the
// simulator share this code.
//
// # The packages
//
// This package implements the rounds. The other packages are
//
//	fedpvi/pvi/method      the releases of clients in a round, with a subpackage for each kind
//	fedpvi/pvi/lambda      the arithmetic of λ
//	fedpvi/pvi/scale       the phase before the rounds, which finds the scale of columns
//	fedpvi/pvi/lastround   the phase after the rounds, which finds a one-step posterior
//	fedpvi/pvi/phase       the parts that all phases share
//	fedpvi/pvi/session     the phases of a study one after the other, and the charges of answers
//
// The table in methods.go chooses the method of a study.
//
// # The lattice
//
// Clients send changes as integers. λ and every λ_m are sums of these integers times the damping,
// which is an integer multiple of 2⁻²⁰. So λ = λ_prior + Σ λ_m holds to the last bit on every
// machine. With exact factors, the sum has one more term, the noise of all releases.
//
// # The memory of a client
//
// A release may depend on the client's records, on published numbers, and on randomness that was
// not the noise of an earlier release. Tied and exact factors obey this rule. Published factors
// break it, because they contain the client's own noise. Other clients later correct for this
// noise, and an observer of the sums can use the corrections to uncover the client's releases.
// [fedpvi/pvi/method/change.PublishedMu] computes the cost.
package pvi
