// Package words describes a study in plain words for a data holder: its results, the columns that
// it reads, the messages of a client, and the data that stay with the client.
package words
