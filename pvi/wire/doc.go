// Package wire is the binary form of the messages of [fedpvi/pvi]: plans, releases and
// outcomes, as machines send them and as a transcript holds them.
//
// # Form
//
// A message is a byte for the version, a byte for the kind, and its fields in order,
// with nothing after them. Integers are eight bytes, little-endian, two's complement;
// real numbers the bits of a float64, which must be finite; elements of λ sixteen bytes,
// the lower half first. A list stands behind its length, a name behind the number of its
// bytes, in four bytes. An empty list is nil.
//
// A message has one encoding, and every encoding that is read is written again as the
// same bytes. The reader checks [Limits] before it allocates anything. Whether
// a message means anything is for the machines of [fedpvi/pvi] to say.
package wire
