// Package syntax reads the text of a program in a subset of the Stan language, and returns its
// syntax tree.
//
// [Parse] never panics. Its time and memory are linear in the length of the text, which is
// limited, as are the number of tokens and the depth of nesting.
package syntax
