// Package audit attacks the code that protects records, as it is released, and tests its privacy
// claims.
//
// An attack plays a tiny worst-case problem many times through packages pvi, dpmech and sim, in
// two worlds that differ by the protected record or client. It distinguishes the worlds by the
// likelihood ratio of an observer's data, with the measured noise and not the claimed one. If it
// succeeds more often than the claimed privacy profile δ(ε) allows, by exact binomial confidence
// bounds, the claim is false (Tramèr et al. 2022, Nasr et al. 2023; the whole profile is tested,
// since a bound on ε at a small δ has no power).
//
// Direct tests cover the properties that an attack has no power against: the variance and the
// shape of the noise in real messages, its correlation across rounds, coordinates, clients and
// runs, the frequencies of samplers, and the norms of summands.
//
// All tests of an audit together raise a false alarm with probability at most [FalseAlarm]. An
// audit without findings proves nothing: the proofs are in docs/prove/privacy.md. It catches code
// that departs from them.
package audit
