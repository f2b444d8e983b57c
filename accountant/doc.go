// Package accountant turns what was released into what was given away.
//
// A release is described by an [Event]: which noise, how much, on which sample,
// under which adjacency. Events are composed and repeated, and [Account] answers
// for the whole with a [Profile]: bounds on the smallest ε for a δ, and on the
// smallest δ for an ε. What there is no proof for is refused.
//
// Under an event stand the laws of its privacy loss, one for each order of two
// adjacent inputs (pair.go, law.go). The methods compose them:
//
//   - Gaussian releases by themselves in closed form ([Exact]; gaussian.go).
//   - Everything by a transform of the discretised laws, tilted so that the tail
//     that δ measures is not lost in rounding ([LossDistribution]; discretise.go,
//     pld.go, certify.go). Its bounds are certified: discretisation, truncation,
//     wrap-around and rounding are charged for, in both directions.
//   - The moment generating function along a contour ([Contour]; contour.go): the
//     same to a dozen digits in a millisecond, without a certificate.
//   - Rényi divergences at real orders ([RenyiDP]; rdp.go, moments.go), and the
//     classical theorems that papers used (classical.go, fixedsize.go).
//
// Events of different adjacencies are never added: "one record more or less"
// and "one record replaced" are different promises.
//
// Calibration goes the other way and never misses its target: what it returns
// was checked with the profile that will be reported. A [Filter] is a budget for
// a lifetime, under full adaptivity. risk.go says what an ε lets an attacker do.
package accountant
