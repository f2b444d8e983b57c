// Package client is the daemon of a data holder. It joins studies, shows their content and cost,
// and takes part in those that the data holder approved, within the data holder's policy.
//
// Three things decide whether anything is sent, and the data holder owns all of them. The [Policy]
// is a file; a study that it does not allow is refused. An approval covers the exact bytes of a
// study and of the policy. The ledger of package [fedpvi/client/ledger] is charged for an answer
// before the first byte of the answer is sent. The client follows the coordinator's transcript
// entry by entry and checks each against its own computation: a plan that does not follow from the
// last outcome ends its part.
//
// A client that is stopped at any instant continues where it was: it sends the same bytes again,
// and pays for nothing twice. Noise comes from the operating system alone.
package client
