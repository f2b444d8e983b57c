// Package ledger records the privacy that a data holder has spent, in one file that survives
// crashes.
//
// Every data set has a budget: a limit (ε, δ) for a privacy unit under an adjacency. It never
// changes, and a filter of package accountant enforces it. It belongs to the data set and not to a
// file: if the data holder exports the records again with another row, the new file is charged to
// the same budget. Every charge names the file that was used.
//
// A [Store] keeps budgets and charges as a chain of entries. Each entry contains the hash of the
// previous one and is signed by the data holder. One transaction writes a charge, the message that
// it pays for, and the new state of the study, before the first byte of the message is sent. After
// a crash the file contains the whole transaction or no part of it, and the client sends the same
// bytes again. No charge is ever removed.
//
// Every reader of a ledger computes each cost again from the event in the charge, and refuses the
// ledger if a cost differs. A second file, the anchor, shows whether the newest transactions are
// missing. A directory that was restored from a backup passes both checks. Only a party that has
// seen a later entry can detect it. See [Store.Contains].
package ledger
