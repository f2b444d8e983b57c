// Package client is the daemon of a data holder: it joins studies, shows what they are and
// cost, and takes part in those that the holder approved, within the holder's own policy.
//
// Three things decide whether anything leaves the house, and all of them belong to the
// holder: the [Policy], a file in which everything that is not allowed is refused; an
// approval, which is of the exact bytes of a study and of the policy; and the ledger of
// package [fedpvi/client/ledger], which pays for an answer before a byte of it is sent.
// What the coordinator says is followed entry by entry and checked against what the client
// computes for itself: a plan that does not follow from the last outcome ends its part.
//
// A client that is stopped at any instant goes on where it was: the same bytes are sent
// again, and nothing is paid for twice. Noise comes from the operating system alone.
package client
