// Package audit attacks the code that protects records, as it is shipped, and
// looks whether it keeps what it promises.
//
// An attack plays a tiny worst-case problem many times through the machines of
// packages pvi, dpmech and sim, in two worlds that differ by what is protected,
// and tells the worlds apart by the likelihood ratio of what an observer sees,
// with the noise that was measured, not the one that was claimed. If it does so
// more often than the claimed privacy profile δ(ε) allows, by exact binomial
// confidence bounds, the claim is false (Tramèr et al. 2022, Nasr et al. 2023;
// the whole profile is tested, since a bound on ε at a small δ has no power).
//
// What an attack has no power against is looked at directly: the variance and the
// shape of the noise in real messages, its correlation across rounds, coordinates,
// clients and runs, the frequencies of samplers, and the norms of what is added up.
//
// All tests of an audit together raise a false alarm with probability at most
// [FalseAlarm]. An audit that finds nothing proves nothing: the proofs are in
// docs/prove/privacy.md. It catches code that departs from them.
package audit
