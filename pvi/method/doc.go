// Package method describes the releases of clients in a round. Each kind of release is a
// [Method] in a package of its own below this package:
//
//	scores       gradients and curvatures of the records, each a noisy sum; the default for records
//	statistics   clipped statistics of the records with noise, released once
//	descent      steps of private gradient descent; each releases a noisy sum of gradients
//	sites        steps of private expectation propagation; each releases a noisy sum of sites
//	gradientsum  one sum of gradients over all clients, which moves q itself
//	change       the clipped change of the client's factor, hidden in the sum over clients
//	clientscores gradient and curvature of the client's records, hidden in their sum over clients;
//	             the default for clients
//	parts        the clipped changes of disjoint parts of the client's records, hidden in their sum
//	tables       the sums from which tables of the records are computed, in a study without a model
//	plain        the change of the client's factor, without noise
//
// The package steps has the code that descent, sites and gradientsum share.
//
// # The parts of a method's package
//
// A method's package has all code that is specific to its kind of release:
//
//   - the mechanism: the function New derives it from a [Setting] and a noise multiplier;
//   - the cost: Event returns the cost of a client's first releases, and Increment the cost
//     of a range of releases;
//   - the client's half: a [Client] makes releases from the client's records;
//   - the coordinator's half: a [Walk] computes λ from the opened sums. Clients compute
//     λ by themselves too, with the same code.
//
// # Where a release is charged
//
// A [Client] counts its releases in [Spent], even if an error follows. Method.Increment returns the
// cost of the next releases. costOfRounds in pvi/session/spent.go collects the events for all
// observers, and Site.Answer puts them into the answer. The client (participant.pay in
// client/participant.go) writes them to its ledger in the transaction that saves the answer:
// Store.Charge in client/ledger/change.go. The scale phase and the last round compute their cost in
// session/scale.go and session/last.go.
//
// # How to add a method
//
// Write a package with a type that implements [Method], and embed the type that implements the
// cost:
//   - [Sum], if one [dpmech.GaussianSum] hides the release;
//   - [Sums], if one GaussianSum hides the release of each round;
//   - the base of package steps, if a [dpmech.SampledSum] hides the release.
//
// Embed [Moves] if the opened sum is a change of λ. Then add a line to the table in
// fedpvi/pvi/methods.go, with the condition on the studies that use the method.
package method
