// Package words describes a study in plain words for a data holder: the results that it
// estimates, the columns that it reads, the public numbers, the messages of a client, and the
// data that stay with the client.
package words
