// Package wire is the binary form of the messages of [fedpvi/pvi]: plans, releases and
// outcomes, as machines send them and as a transcript holds them.
//
// # Form
//
// A message is a byte for the version, a byte for the kind, and its fields in order, with
// nothing after them. Integers are eight bytes, little-endian, two's complement; real numbers
// are the bits of a float64, which must be finite; elements of λ are sixteen bytes, the lower
// half first. Before a list come four bytes with its length, and before a name four bytes with
// the number of its bytes. An empty list is read as nil.
//
// A message has one encoding, and every encoding that is read is written again as the same
// bytes. The reader checks [Limits] before it allocates anything. The machines of [fedpvi/pvi]
// check the meaning of a message.
package wire
