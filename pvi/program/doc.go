// Package program compiles a program in a subset of the Stan language into a record program
// ([model.Model]).
//
// The compiler runs the program once, with symbolic values, for the record at hand. A loop over
// constants runs, and the body of a loop over the records runs once. A vector with one element
// for each record is represented by the element of the record at hand. An operation that needs
// another record has no meaning in this evaluation, so a program whose log density is not a sum
// over records is refused where it reads another record.
//
// Privacy does not rest on this package. A record program has no operation that reads another
// row, [ir.Verify] checks it, and its gradients are clipped. A mistake here can make a wrong model
// but no leak.
package program
