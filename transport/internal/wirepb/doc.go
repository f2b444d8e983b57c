// Package wirepb has the messages of the wire protocol. The command make generate generates it from
// fedpvi.proto.
package wirepb
