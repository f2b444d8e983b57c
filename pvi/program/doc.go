// Package program compiles a program in a subset of the Stan language into a record program
// ([model.Model]).
//
// The compiler goes through the program once, with symbolic values for a single record, which we
// call the current record. It unrolls loops over constants. In a loop over the records, it
// evaluates the body once. If a vector has one element for each record, the compiler represents it
// by the current record's element. Operations that read another record are refused, because their
// values are not available. The log density of an accepted program is therefore a sum over records.
//
// Privacy does not depend on this package. A record program cannot read another row, because there
// is no operation for that, as [ir.Verify] checks. A mistake in this package could lead to a wrong
// model, but could not reveal records.
package program
