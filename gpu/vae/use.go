package vae

import (
	"math"

	"fedpvi/dpmech"
	"fedpvi/internal/math32"
)

// Loss returns −ELBO in nats, averaged over images. It draws the pixels and one latent vector for
// each image. The divergence has a closed form. The result is not private, so the images must be
// public.
func (n *Network) Loss(images [][]byte, src *dpmech.Stream) float64 {
	p := newPass(n)
	var sum float64
	for from := 0; from < len(images); from += recordsAtOnce {
		chunk := images[from:min(from+recordsAtOnce, len(images))]
		for i, image := range chunk {
			p.load(i, image, src)
		}
		p.encode(len(chunk))
		p.draw(len(chunk), src)
		p.decode(len(chunk))
		for i := range chunk {
			sum += p.loss(i)
		}
	}
	return sum / float64(len(images))
}

// loss returns −ELBO of record i after the forward pass.
func (p *pass) loss(i int) float64 {
	out, value := p.out[decoderOutput].row(i, p.of.Pixels), p.slope[decoderOutput].row(i, p.of.Pixels)
	math32.Softplus(value, p.back[encoderHidden].row(i, p.of.Pixels), out)
	var loss float64
	for j, x := range p.in[encoderHidden].row(i, p.of.Pixels) {
		loss += float64(value[j]) - float64(x)*float64(out[j])
	}
	m := p.out[encoderOutput].row(i, p.of.Latent)
	for k, s := range p.spread.row(i, p.of.Latent) {
		v := float64(s) * float64(s)
		loss += 0.5 * (v + float64(m[k])*float64(m[k]) - 1 - math.Log(v))
	}
	return loss
}

// Reconstruct returns, for each image, the probabilities of the pixels at the mean of the image's
// latent vector. It draws the pixels of the images first.
func (n *Network) Reconstruct(images [][]byte, src *dpmech.Stream) [][]float32 {
	p := newPass(n)
	var all [][]float32
	for _, image := range images {
		p.load(0, image, src)
		p.encode(1)
		copy(p.in[decoderHidden].row(0, n.Latent), p.out[encoderOutput].row(0, n.Latent))
		all = append(all, p.probabilities())
	}
	return all
}

// Generate returns the probabilities of the pixels of new images. It draws their latent vectors
// from the prior.
func (n *Network) Generate(images int, src *dpmech.Stream) [][]float32 {
	p := newPass(n)
	var all [][]float32
	for range images {
		dpmech.FillNormal(p.deviates[:n.Latent], src)
		z := p.in[decoderHidden].row(0, n.Latent)
		for k := range z {
			z[k] = float32(p.deviates[k])
		}
		all = append(all, p.probabilities())
	}
	return all
}

// probabilities returns the probabilities of the pixels of the pass's first record, given its
// latent vector.
func (p *pass) probabilities() []float32 {
	p.decode(1)
	out, probability := p.out[decoderOutput].row(0, p.of.Pixels), make([]float32, p.of.Pixels)
	math32.Softplus(p.slope[decoderOutput].row(0, p.of.Pixels), probability, out)
	return probability
}
