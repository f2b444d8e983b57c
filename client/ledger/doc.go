// Package ledger records the privacy that a data holder has spent, in one file that survives
// crashes.
//
// Every data set has a budget, which is a limit (ε, δ) for a privacy unit under an adjacency. The
// budget never changes, and a filter of package accountant enforces it. The budget belongs to the
// data set and not to a file. If the data holder exports the records again with another row, the
// new file belongs to the same data set and is charged to the same budget. Every charge names the
// file that was used.
//
// A [Store] keeps budgets and charges as a chain of entries. Each entry contains the hash of the
// previous entry, and the data holder signs each entry. One transaction writes a charge, the
// message that the charge pays for, and the new state of the study. The transaction is on disk
// before the first byte of the message is sent. After a crash the file contains the whole
// transaction or no part of it, and the client sends the same bytes again. No charge is ever
// removed.
//
// Every reader of a ledger computes each cost again from the event in the charge. If a recorded
// cost differs, the reader refuses the ledger. A second file, the anchor, shows whether the first
// file lacks its newest transactions. A directory that was restored from a backup passes both
// checks. Only a party that has seen a later entry can detect the backup. See [Store.Contains].
package ledger
