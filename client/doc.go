// Package client is the daemon of a data holder. It joins studies, shows their content and cost,
// and takes part in the approved ones.
//
// The data holder controls the client in three ways. The [Policy] is a file that lists the allowed
// actions. An approval applies to one study and one policy, byte for byte. The ledger of package
// [fedpvi/client/ledger] is charged for an answer before the first byte of the answer is sent. The
// client also checks each entry of the coordinator's transcript against its own computation, and
// stops if a plan does not follow from the last outcome.
//
// A client can be stopped at any time. The next time, it continues where it stopped, sends the same
// bytes again, and charges each answer only once. All noise comes from the operating system's
// random bytes.
package client
