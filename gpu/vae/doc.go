// Package vae is a variational autoencoder of binary images (Kingma and Welling,
// "Auto-Encoding Variational Bayes", 2014) as in d3p (Prediger et al., 2022): one hidden
// layer of softplus units on either side of a normal latent vector of each image.
//
//	x | z ~ Bernoulli(logistic(W₄·softplus(W₃·z)))        z ~ N(0, I)
//	q(z | x) = N(m, diag(s²)), with m and log s two outputs of W₂·softplus(W₁·x)
//
// every vector with a 1 appended, so that weights hold the biases. Weights are point
// estimates; latent vectors belong to one image each and are never kept: the encoder
// makes them anew (amortised inference), so that an image enters nothing but its own
// gradient. Step [Trainer.Step] moves weights along sums of such gradients, which a
// mechanism of [fedpvi/dpmech] clips, adds and hides.
//
// One backward pass is enough (Bu et al., "Differentially Private Optimization on Large
// Model at Small Cost", 2022, book-keeping): a record's gradient of a layer is the outer product
// of what went in and the derivative of what came out, whose norm is a product of two
// norms, and the clipped sum a product of matrices.
//
// Arithmetic is float32 in lanes, by package [fedpvi/internal/math32].
package vae
