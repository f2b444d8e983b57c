// Package wirepb contains the messages of the wire protocol. It is generated from fedpvi.proto by
// the command make generate.
package wirepb
