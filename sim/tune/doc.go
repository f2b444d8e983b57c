// Package tune searches settings for a study's private inference. The settings are the clip, the
// number and size of the steps, the sampling rate and the damping.
//
// A [Search] costs no privacy. It uses records that are generated from the study's model, prior and
// public bounds, or records that the user declares public. A [Selection] uses the private records.
// Every run and every score of a selection is a release, and the total cost of these releases meets
// the study's privacy target.
package tune
