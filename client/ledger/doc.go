// Package ledger is what a data holder knows of the privacy that it has spent, in one file
// that survives crashes.
//
// For every data set there is a budget, a promise (ε, δ) about a privacy unit under an
// adjacency, fixed when it is made and kept by a filter of package accountant. A data set
// is named by its holder, so that its budget goes on when the file of records is exported
// anew with a row more; which file was used, every charge says.
//
// A [Store] keeps budgets and charges as a chain of entries: each names the hash of the one
// before it and is signed by the holder. A charge, the bytes that it pays for and the state
// of the study after it are in one transaction, on disk before a byte is sent: after a crash
// either none of it happened or all of it did, and the same bytes go out again. Nothing is
// ever taken back.
//
// Whoever reads a chain recomputes every cost from what was released. A store does so when
// it is opened, and works with no chain that does not come out. A store that somebody put
// back to an earlier day is whole all the same: only others, to whom the holder has shown
// its last head, can tell. See [Store.Contains].
package ledger
