// Package program compiles a program in a subset of the Stan language into a record program
// ([model.Model]).
//
// The compiler evaluates the program once, with symbolic values of a single record, called the
// record at hand. It unrolls loops over constants, and evaluates the body of a loop over the
// records once. A vector with one element for each record is represented by the element of the
// record at hand. An operation that reads another record has no value and is refused, so the log
// density of an accepted program is a sum over records.
//
// Privacy does not depend on this package. A record program has no operation that reads another
// row, as [ir.Verify] checks. An error in this package can produce a wrong model but cannot reveal
// records.
package program
