// Package gradientsum is the method in which every round opens one sum of clipped gradients over
// all records of the clients that answered. The server and every client compute the new q from
// the sum.
//
// A client reads its records only to compute the release, so no other message can reveal the
// records. Clients have no factors.
package gradientsum
