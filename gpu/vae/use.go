package vae

import (
	"math"

	"fedpvi/dpmech"
	"fedpvi/internal/math32"
)

// Loss returns −ELBO in nats, averaged over images. It draws the pixels and one latent vector for
// each image. It computes the divergence in closed form. The result is not private, so the images
// must be public. It does not depend on the number of workers.
func (t *Trainer) Loss(images [][]byte, src *dpmech.Stream) float64 {
	t.Sync()
	losses := make([]float64, len(images))
	chunks := make([]drawn, math32.Tiles(len(images), recordsAtOnce))
	for c := range chunks {
		chunks[c].draw(t.network, images[c*recordsAtOnce:min((c+1)*recordsAtOnce, len(images))], src)
	}
	t.crew.do(len(chunks), func(worker, c int) { t.passes[worker].losses(losses[c*recordsAtOnce:], &chunks[c]) })
	var sum float64
	for _, loss := range losses {
		sum += loss
	}
	return sum / float64(len(images))
}

// drawn is a chunk of images with their random numbers.
type drawn struct {
	images   [][]byte
	words    []uint64
	deviates []float64
}

func (d *drawn) draw(n *Network, images [][]byte, src *dpmech.Stream) {
	d.images, d.words, d.deviates = images, make([]uint64, len(images)*wordsOf(n)), make([]float64, len(images)*n.Latent)
	src.Fill(d.words)
	dpmech.FillNormal(d.deviates, src)
}

// losses writes −ELBO of each image of a chunk to dst.
func (p *pass) losses(dst []float64, d *drawn) {
	size := wordsOf(p.of)
	for i, image := range d.images {
		math32.Bernoulli(p.in[encoderHidden].row(i, len(image)), image, d.words[i*size:][:size])
	}
	p.encode(len(d.images))
	copy(p.deviates, d.deviates)
	p.deviate(len(d.images))
	p.decode(len(d.images))
	for i := range d.images {
		dst[i] = p.loss(i)
	}
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

// Reconstruct draws the pixels of each image and returns the probabilities of its pixels at the
// mean of its latent vector.
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

// Generate draws latent vectors from the prior and returns the pixel probabilities of new images.
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

// probabilities returns the pixel probabilities of the pass's first record, given its latent
// vector.
func (p *pass) probabilities() []float32 {
	p.decode(1)
	out, probability := p.out[decoderOutput].row(0, p.of.Pixels), make([]float32, p.of.Pixels)
	math32.Softplus(p.slope[decoderOutput].row(0, p.of.Pixels), probability, out)
	return probability
}
