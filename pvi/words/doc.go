// Package words says in plain words what a study is: what it estimates, what it reads of a
// record, what is public, what a client sends and what stays with it. It is for whoever
// decides whether records may take part, in a simulation and at a data holder alike.
package words
