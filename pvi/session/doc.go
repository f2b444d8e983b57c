// Package session runs a study through all of its phases:
//   - the passes that find the scale of columns, if the study has a private standardisation
//   - the rounds
//   - the last round, if the study has a one-step posterior
//
// All inputs and outputs are bytes. The package uses neither clock nor files nor network.
//
// A [Server] makes plans, and each client has a [Site], which answers them. The server sends plans
// and outcomes, together called entries. Each site gets all entries in the same order. Plans are
// numbered from 1 over all phases. The schedule of the study determines how many plans may be open
// at the same time.
//
// The state of a server or a site can be saved and restored at any time. It does not contain
// records. A site's state contains the client's own factor, and must not leave the client.
package session
