// Package vae implements a variational autoencoder of binary images (Kingma and Welling,
// "Auto-Encoding Variational Bayes", 2014) as in d3p (Prediger et al., 2022). The encoder and the
// decoder each have one hidden layer of softplus units. Each image has a normal latent vector.
//
//	x | z ~ Bernoulli(logistic(W₄·softplus(W₃·z)))        z ~ N(0, I)
//	q(z | x) = N(m, diag(s²)), with m and log s two outputs of W₂·softplus(W₁·x)
//
// Every vector has a 1 appended, so that weights include the biases. Weights are point estimates. A
// latent vector belongs to one image and is not kept: the encoder computes it again (amortised
// inference), so an image affects only its own gradient. [Trainer.Step] moves the weights along
// sums of such gradients. A mechanism of [fedpvi/dpmech] clips the gradients, adds them and adds
// noise.
//
// One backward pass is enough to clip and add the gradients (the book-keeping of Bu et al.,
// "Differentially Private Optimization on Large Model at Small Cost", 2022). A record's gradient
// with respect to the weights of a layer is the outer product of the layer's inputs and the
// derivatives with respect to its outputs. The norm of this gradient is therefore the product of
// two norms, and the clipped sum is a product of matrices.
//
// Arithmetic is in float32, with package [fedpvi/internal/math32].
package vae
