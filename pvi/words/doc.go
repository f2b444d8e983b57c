// Package words describes a study to a data holder in plain language: the results, the columns that
// the study uses, the messages that a client sends, and the data that never leave the client.
package words
