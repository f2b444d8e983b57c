// Package session conducts a study through all of its phases: the passes that find the
// scale of columns, if the study asks for it; the rounds; and the last round, if a
// noise-aware posterior comes of one. It is pure: bytes in, bytes out, no clock, no file,
// no network.
//
// A [Server] asks, and a [Site] of each client answers. What the server says is an
// [Entry], a plan or an outcome, and every site follows all entries in the order in which
// they were said. Questions, or asks, are numbered from 1 over all phases. Any number may
// be out at once, as the study's schedule has it.
//
// Both sides keep states that can be saved at any time and restored. Neither holds a
// record. A site's state holds what must not leave the house.
package session
