// Package client is the daemon of a data holder. It joins studies, shows their content and cost,
// and takes part in the approved ones.
//
// The data holder controls the client in three ways. The [Policy] is a file that lists the allowed
// actions. An approval covers the exact bytes of a study and of the policy. The ledger of package
// [fedpvi/client/ledger] is charged for an answer before the first byte of the answer is sent. The
// client also checks each entry of the coordinator's transcript against its own computation, and
// stops if a plan does not follow from the last outcome.
//
// A client can be stopped at any time. At the next start it continues where it stopped, sends the
// same bytes again, and is charged for each answer only once. All noise is computed from random
// bytes of the operating system.
package client
