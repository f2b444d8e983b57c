// Package vae implements a variational autoencoder of binary images (Kingma and Welling,
// "Auto-Encoding Variational Bayes", 2014) as in d3p (Prediger et al., 2022): one hidden layer
// of softplus units on either side of a normal latent vector of each image.
//
//	x | z ~ Bernoulli(logistic(W₄·softplus(W₃·z)))        z ~ N(0, I)
//	q(z | x) = N(m, diag(s²)), with m and log s two outputs of W₂·softplus(W₁·x)
//
// Every vector has a 1 appended, so that weights include the biases. Weights are point
// estimates. A latent vector belongs to one image and is not kept: the encoder computes it
// again (amortised inference), so that an image affects only its own gradient. [Trainer.Step]
// moves the weights along sums of such gradients, which a mechanism of [fedpvi/dpmech] clips,
// adds and hides.
//
// One backward pass is enough (Bu et al., "Differentially Private Optimization on Large Model
// at Small Cost", 2022, book-keeping): a record's gradient of a layer is the outer product of
// the layer's inputs and the derivatives in its outputs. Its norm is the product of two norms,
// and the clipped sum is a product of matrices.
//
// Arithmetic is float32, by package [fedpvi/internal/math32].
package vae
