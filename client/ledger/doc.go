// Package ledger records the privacy that a data holder has spent, in one file that survives
// crashes.
//
// Every data set has a budget: a promise (ε, δ) for a privacy unit under an adjacency. It never
// changes, and a filter of package accountant enforces it. The data holder names the data set, so
// that the budget still applies when the file of records is exported again with another row. Every
// charge records which file was used.
//
// A [Store] keeps budgets and charges as a chain of entries. Each entry contains the hash of the
// previous one, and the data holder signs it. One transaction holds a charge, the message that it
// pays for and the state of the study after it, and is on disk before the first byte is sent. After
// a crash either all of it happened or nothing; the same bytes are sent again. No charge is ever
// taken back.
//
// Every reader of a chain recomputes each cost from the release. A store does so when it is opened,
// and refuses a chain that does not match. A store that was restored from a backup still matches.
// Only a party that saw its last head can detect it. See [Store.Contains].
package ledger
