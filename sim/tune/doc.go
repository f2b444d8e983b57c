// Package tune searches settings for a study's private inference. These are the clip, the number
// and size of the steps, the sampling rate and the damping.
//
// The cost of a search depends on the records that it uses. A search on made-up records costs
// nothing, because they come from the study's own model, prior and public bounds. The same holds
// for records that the user asserts to be public. See [Search]. On the private records every run
// and every score is a release. The search is then a selection whose total cost meets the
// study's target. See [Selection].
package tune
