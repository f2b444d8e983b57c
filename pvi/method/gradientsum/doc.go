// Package gradientsum is the method in which every round opens one sum of clipped gradients over
// all records of the clients that answered. The server and every client compute the new q from the
// sum.
//
// A client reads its records only to compute its release, so the release is the only part of its
// messages that depends on the records. Clients have no factors.
package gradientsum
