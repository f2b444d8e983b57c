// Package wire encodes and decodes the messages of [fedpvi/pvi] in binary form: plans, releases and
// outcomes. Coordinator and clients send messages in this form, and transcripts store messages in
// the same form.
//
// # Form
//
// A message is a byte for the version, a byte for the kind, and its fields in order, with nothing
// after them. Integers are eight bytes, little-endian, two's complement. Real numbers are the bits
// of a float64, which must be finite. Elements of λ are sixteen bytes, the lower half first. A list
// is preceded by its length in four bytes, and a name by its number of bytes in four bytes. An
// empty list is read as nil.
//
// A message has exactly one encoding: encoding a decoded message gives the same bytes. The reader
// checks [Limits] before it allocates anything. It does not check that a message makes sense in its
// study. The state machines of [fedpvi/pvi] do that.
package wire
