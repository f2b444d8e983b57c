// Package ledger records how much privacy a data holder has spent, in one file that survives
// crashes.
//
// Each data set has a budget, which is a limit (ε, δ) for a privacy unit and an adjacency. The
// budget never changes, and a filter of package accountant enforces it. It belongs to the data set
// and not to a file: if the data holder exports the records again with another row, the new file is
// charged to the same budget. Each charge records which file was used.
//
// A [Store] keeps budgets and charges as a chain of entries. Each entry contains the hash of the
// previous one and is signed by the data holder. One transaction writes a charge, the message that
// it pays for, and the new state of the study, before the first byte of the message is sent. After
// a crash, either the whole transaction is in the file or no part of it, and the client sends the
// same bytes again. No charge is ever removed.
//
// A reader of a ledger recomputes each cost from the event in the charge. If a cost is different,
// it refuses the ledger. A second file, the anchor, shows whether the newest transactions are
// missing. If the whole directory was restored from a backup, it passes both checks, and only a
// party that has seen a later entry can tell. See [Store.Contains].
package ledger
