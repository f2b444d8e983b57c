// Package sums adds up the vectors of the clients of a study. No party can read a single vector.
// For each plan only one sum can be opened, and this sum contains the vectors of at least U_min of
// the M clients. Both hold even if the coordinator and the network are malicious and collude with
// up to h clients:
//
//	h = 2·U_min − M − 1
//
// The arithmetic is in package packed.
//
// # Messages
//
// Once in a study, each client draws a key for each other client, encrypts the key with package
// seal, and sends it to that client. After that, each plan needs three messages from each client
// and three entries of the transcript:
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
// A client without a deal confirms and shares too, because it has columns of the other clients'
// deals.
//
// # Machines
//
// Client and Coordinator are state machines without files, sockets and clocks. Both follow the
// entries of the transcript (package transcript), which their caller has verified, and produce
// messages and bodies of entries. Progress is the part of their state that follows from the
// transcript alone. A Progress is also enough to verify a finished transcript.
//
// The caller writes the state of a Client and the messages that the Client has returned to disk in
// one transaction, before it sends the messages. All methods check everything before they change
// the state. If a method returns an error, the state is unchanged.
package sums
