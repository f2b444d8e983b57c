// Package words describes a study in plain words for a data holder: what it estimates, which columns of a
// record it reads, which numbers are public, what a client sends, and what stays with the client.
package words
