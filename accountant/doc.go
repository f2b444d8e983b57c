// Package accountant computes the privacy cost of noisy releases.
//
// An [Event] describes a release: the kind and size of the noise, the sample, and the [Adjacency].
// [Composed] and [Repeated] combine events. [Account] returns the [Profile] of an event, with
// bounds on the smallest ε for a δ, and on the smallest δ for an ε. If there is no proof for a
// combination of events, it returns an error.
//
// A researcher usually calls
//
//   - [Account] and [Profile.Epsilon] for the cost of given releases;
//   - [CalibrateNoise], [CalibrateRate] and [CalibrateTimes] for the noise multiplier,
//     the sampling rate or the number of steps that meet a [Target]; the result always
//     meets the target, because it is checked with the profile that is reported;
//   - [NewGaussianFilter] or [NewRenyiFilter] for a budget for all releases of a client, which may
//     depend on earlier releases;
//   - [Profile.TruePositiveRate], [Profile.Accuracy] and the other functions of risk.go for
//     the success of an attacker.
//
// Sensitivity and noise are in the same unit. A noise multiplier is the standard deviation of the
// noise divided by the clip C. Events of different adjacencies cannot be composed, because "one
// record more or less" and "one record replaced" are different promises.
//
// # Methods
//
// In this package, a law is a probability distribution, usually that of a privacy loss. Each event
// has one law for each order of two adjacent inputs (pair.go, law.go). The methods compose these
// laws:
//
//   - [Exact] composes Gaussian releases in closed form (gaussian.go).
//   - [LossDistribution] composes all events by a Fourier transform of the discretised laws. The
//     laws are tilted (multiplied by e^(θL) at the loss L, and normalised) so that the tail that
//     determines δ is not lost in rounding errors (discretise.go, pld.go, certify.go). The bounds
//     are certified. The upper and the lower bound both include the errors of discretisation,
//     truncation, wrap-around and rounding.
//   - [Contour] integrates the moment generating function along a contour (contour.go).
//     It is accurate to a dozen digits within a millisecond, but its result is not
//     certified.
//   - [RenyiDP] converts Rényi divergences at real orders (rdp.go, moments.go).
//   - [FixedSize], [Moments], [Advanced] and [Basic] apply theorems from older papers
//     (fixedsize.go, classical.go).
//
// # Adding an event
//
// To add a new kind of release, write a file and add a line:
//
//  1. a file such as sampled.go: a struct with fields of the types float64 and int, and an
//     Adjacency at the end. Its methods are addTo and laws. addTo checks the fields and calls
//     t.gaussian for Gaussian noise or t.sample for any other noise. laws returns the
//     laws of the loss, and its comment contains the proof. law.go and pair.go contain the
//     usual laws;
//  2. a line in kinds, in encoding.go. Ledgers keep the number of a kind for ever.
//
// To test it, add an entry to the table in encoding_test.go, compare it with reference values or a
// closed form as in sampled_test.go, and add it to the extreme cases in soundness_test.go.
package accountant
