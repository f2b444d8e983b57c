// Package syntax parses programs in a subset of the Stan language into syntax trees.
//
// [Parse] never panics. Its time and memory are linear in the length of the text, which is limited.
package syntax
