// Package session runs a study through all of its phases:
//   - the passes that find the scale of columns, if the study has a private standardisation
//   - the rounds
//   - the last round, if the study has a one-step posterior
//
// Inputs and outputs are bytes. The package does not use a clock, files or the network.
//
// A [Server] makes plans, and the [Site] of each client answers them. The server's messages are
// entries, plans and outcomes, which every site receives in order. Plans are numbered from 1 over
// all phases. The study's schedule determines how many plans may be open at once.
//
// Both sides have states that can be saved at any time and restored. A state contains no record. A
// site's state contains the client's own factor and must not leave the client.
package session
