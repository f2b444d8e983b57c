// Package gradientsum is the method in which each round opens one sum of clipped gradients over all
// records. The server and every client compute the new q from this sum. Clients have no factors.
// They read their records only to compute releases.
package gradientsum
