// Package wirepb is the wire protocol: generated from fedpvi.proto by make generate.
package wirepb
