// Package sums adds up the vectors of a study's clients, in such a way that no party can read a
// single vector. For each plan, only one sum can be opened, and it covers the vectors of at least
// U_min of the M clients. All this holds even if the coordinator and the network are malicious and
// collude with up to h clients:
//
//	h = 2·U_min − M − 1
//
// Package packed has the arithmetic.
//
// # Messages
//
// Once in a study, each client draws a key for each other client, encrypts it with package seal,
// and sends it there. After that, each plan takes three messages from each client and three
// transcript entries:
//
//   - deal: The client computes the columns of its vector, one for each client. It encrypts each
//     column under a key that it shares with the client that receives the column.
//   - cut: The coordinator lists the deals that are added up, at least U_min.
//   - confirmation: A client that could decrypt its columns of all these deals signs the hash of
//     the cut. It signs only one cut for each plan. To ensure this, it stores the hash before it
//     sends the signature.
//   - certificate: The coordinator lists U_min confirmations. There is only one certified cut,
//     because two certified cuts would need an honest client that confirmed both.
//   - share: A client sends the sum of its columns of the certified cut.
//   - opening: The coordinator lists U_min shares. Everybody computes the sum from them.
//
// A client that has not made a deal can still confirm and share, because it has columns of the
// other clients' deals.
//
// # Machines
//
// Client and Coordinator are state machines that use no files, sockets or clocks. Both follow the
// transcript entries (package transcript) that their caller has verified, and produce messages and
// entry bodies. Progress is the part of their state that follows from the transcript alone. It is
// enough to verify a finished transcript.
//
// The caller must write a Client's state and the messages that the Client has returned to disk in
// one transaction, before it sends the messages. A method that returns an error leaves the state
// unchanged.
package sums
