// Package wirepb has the messages of the wire protocol. The command make generate makes it from
// fedpvi.proto.
package wirepb
