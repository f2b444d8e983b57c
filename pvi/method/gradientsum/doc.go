// Package gradientsum is the method in which every round opens one sum of clipped gradients over
// all records. The server and every client compute the new q from it. Clients have no factors, and
// read their records only to compute their releases.
package gradientsum
