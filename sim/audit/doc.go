// Package audit attacks the released code that protects records, and tests its privacy claims.
//
// An attack simulates a small worst-case problem many times with packages pvi, dpmech and sim,
// in two worlds. The worlds differ by the protected record or client. The attack distinguishes
// them by the likelihood ratio of an observer's data, computed with the measured noise and not
// the claimed noise. If it succeeds more often than the claimed privacy profile δ(ε) allows,
// judged by exact binomial confidence bounds, the claim is false (Tramèr et al. 2022, Nasr et
// al. 2023). The whole profile is tested, because a test of ε at a single small δ would find
// hardly any fault.
//
// Direct tests cover properties whose faults an attack can hardly detect. These are the variance and
// the shape of the noise in real messages, its correlation across rounds, coordinates, clients and
// runs, the frequencies of sampling, and the norms of the vectors in a sum.
//
// All tests of an audit together raise a false alarm with probability at most [FalseAlarm]. An
// audit without findings proves nothing. The proofs are in docs/prove/privacy.md, and the audit
// looks for code that departs from the assumptions of the proofs.
//
// # Adding a mechanism
//
// Write a file with a direct test of the norms of vectors in a sum, and an attack on the release.
// scores.go has examples of both. In suite (suite.go), append the test to quick with single, and the
// attack to long with lazily. The tests of aboutNoise are for Gaussian noise
// alone. Other noise needs a test of its size and shape, which judges counts with chiSquareP or
// binomialP.
package audit
