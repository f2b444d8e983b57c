// Package session conducts a study through all of its phases: the passes that find the scale of columns, if the
// study asks for it; the rounds; and the last round, if the study asks for a one-step posterior. It is pure: bytes
// in, bytes out, no clock, no file, no network.
//
// A [Server] makes plans, and a [Site] of each client answers them. The server's messages are entries: an [Entry] is
// a plan or an outcome. Every site follows all entries in their order. Plans are numbered from 1 over all phases. Any
// number of plans may be open at once, as the study's schedule has it.
//
// Both sides keep states that can be saved at any time and restored. Neither holds a
// record. A site's state holds the client's own factor and must not leave the client.
package session
