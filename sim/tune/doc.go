// Package tune searches for the settings of a study's private inference: the clip, the number and
// size of the steps, the sampling rate and the damping.
//
// A [Search] costs no privacy. Its records are generated from the study's model, prior and public
// bounds, or the user has declared them public. A [Selection] uses the private records. Every run
// and every score of a selection is a release, and their total cost meets the study's privacy
// target.
package tune
