// Package gradientsum is the method in which every round opens one sum of clipped gradients
// over all records of the clients that answered. The server and every client compute the new q
// from the sum.
//
// A client computes nothing from its records except the release, so that no other message can
// reveal what the sum hides. Clients have no factors.
package gradientsum
