// Package syntax parses programs in a subset of the Stan language into syntax trees.
//
// [Parse] never panics. It takes time and memory in proportion to the length of the text, which is
// limited.
package syntax
