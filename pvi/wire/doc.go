// Package wire encodes and decodes the messages of [fedpvi/pvi] in binary form, in which they are
// sent and stored: plans, releases and outcomes.
//
// # Form
//
// A message is a byte for the version, a byte for the kind, and its fields in order, with nothing
// after them. Integers are eight bytes, little-endian, two's complement. Real numbers are the bits
// of a float64, which must be finite. Elements of λ are sixteen bytes, the lower half first. A list
// is preceded by its length in four bytes, and a name by its number of bytes in four bytes. An
// empty list is read as nil.
//
// A message has exactly one encoding. The reader checks [Limits] before it allocates anything. It
// does not check that a message makes sense in its study.
package wire
