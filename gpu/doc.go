// Package gpu evaluates the log density of a model's records, and its gradients, over batches of
// rows. A verified record program defines the log density of one record. [Evaluator.Sum] returns
// only sums over records.
//
// [CPU.Compile] makes an [Evaluator] of a model and a table of records. Package [fedpvi/gpu/cuda]
// computes private steps of some models on a GPU.
//
// A record contributes the gradient of its log density, clipped to an L2 norm C. A record whose
// density, gradient or norm is not finite contributes zero. Norms are exact: if several parts of a
// record contribute to one coordinate, the parts are added before squares are taken.
//
// Contributions can be added in two ways. [Evaluator.Sum] adds them as floats, for work without
// privacy. The order of the additions depends on the batch alone. [Evaluator.Each] passes every
// contribution to a [Sink]. In private steps the sink is a mechanism, which adds integers.
package gpu
