// Package audit attacks the released code that protects records, and tests the privacy claims of
// that code.
//
// An attack simulates a small worst-case problem many times with packages pvi, dpmech and sim, in
// two worlds: data sets that differ by the protected record or client. It guesses the world from
// the likelihood ratio of an observer's data, computed with the measured noise and not the claimed
// noise. The claimed privacy profile δ(ε) limits how often an attack can guess right. If exact
// binomial confidence bounds show that the attack exceeds this limit, the claim is false (Tramèr et
// al. 2022, Nasr et al. 2023). The whole profile is tested, because a test of ε at a single small δ
// would find hardly any fault.
//
// Direct tests cover properties whose faults an attack can hardly detect: the variance and shape of
// the noise in real messages, its correlation across rounds, coordinates, clients and runs, the
// frequencies of sampling, and the norms of the vectors in a sum.
//
// All tests of an audit together raise a false alarm with probability at most [FalseAlarm]. An
// audit without findings proves nothing. The proofs are in docs/prove/privacy.md, and the audit
// looks for code that departs from their assumptions.
//
// # Adding a mechanism
//
// The audit tests sums with the noise of every family in [fedpvi/dpmech.Families] (noisy.go). A
// mechanism that is not a [fedpvi/dpmech.Sum] needs a file with a direct test of the norms of
// vectors in a sum, and an attack on the release, as in scores.go. In suite (suite.go), append the
// test to the list quick, with single, and the attack to the list long, with lazily. If the noise
// is not Gaussian, map it to normal variates for the tests of aboutNoise, as normalScore does.
package audit
