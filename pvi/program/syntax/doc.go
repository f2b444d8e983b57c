// Package syntax parses programs in a subset of the Stan language into syntax trees.
//
// [Parse] never panics. Its time and memory are linear in the length of the text. The length, the
// number of tokens and the depth of nesting are limited.
package syntax
