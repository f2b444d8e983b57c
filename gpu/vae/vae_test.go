package vae

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedpvi/accountant"
	"fedpvi/dpmech"
	"fedpvi/dpmech/seeded"
	"fedpvi/internal/math32"
)

var small = Shape{Pixels: 21, Hidden: 11, Latent: 3}

// network returns a network whose weights are so large that every derivative matters.
func network(t testing.TB, seed uint64) *Network {
	t.Helper()
	n, err := NewNetwork(small, seeded.Stream(seed, "weights"))
	if err != nil {
		t.Fatal(err)
	}
	for l, w := range n.weights {
		for i := range w.Data {
			w.Data[i] *= 40
		}
		n.turn(l, 0, w.Rows)
	}
	return n
}

// sampler returns the sampler for the given number of records.
func sampler(t testing.TB, sampling dpmech.Sampling, records int) dpmech.Sampler {
	t.Helper()
	s, err := sampling.Sampler(records)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// begin starts the steps of a mechanism.
func begin(t testing.TB, m *dpmech.ProductSum, seed uint64) *dpmech.ProductRun {
	t.Helper()
	run, err := m.Begin(seeded.Streams(seed, "noise"))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// newTrainer returns a trainer that is closed at the end of the test.
func newTrainer(t testing.TB, n *Network, images [][]byte, sums Sums, most int, o Options, seed uint64) *Trainer {
	t.Helper()
	tr, err := NewTrainer(n, images, sums, most, o, seeded.Stream(seed, "bits"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return tr
}

// forward computes the forward pass for a few images.
func forward(p *pass, images [][]byte, src *dpmech.Stream) {
	for i, image := range images {
		p.load(i, image, src)
	}
	p.encode(len(images))
	dpmech.FillNormal(p.deviates[:len(images)*p.of.Latent], src)
	p.deviate(len(images))
	p.decode(len(images))
}

// plainLoss returns −ELBO of one image in float64, computed from the definition. x holds the
// pixels, e the standard normal numbers of the latent vector, and theta the weights, layer by layer
// and row by row.
func plainLoss(s Shape, theta []float64, x []float32, e []float64) float64 {
	dense := func(in []float64, outputs int) []float64 {
		out := make([]float64, outputs)
		for _, v := range append(slices.Clone(in), 1) {
			for j := range out {
				out[j] += v * theta[j]
			}
			theta = theta[outputs:]
		}
		return out
	}
	softplus := func(v []float64) []float64 {
		for i := range v {
			v[i] = math.Log1p(math.Exp(v[i]))
		}
		return v
	}
	in := make([]float64, len(x))
	for j := range x {
		in[j] = float64(x[j])
	}
	latent := dense(softplus(dense(in, s.Hidden)), 2*s.Latent)
	z, loss := make([]float64, s.Latent), 0.
	for k := range z {
		m, sd := latent[k], math.Exp(latent[s.Latent+k])
		z[k] = m + sd*e[k]
		loss += (sd*sd+m*m-1)/2 - math.Log(sd)
	}
	for j, odds := range dense(softplus(dense(z, s.Hidden)), s.Pixels) {
		p := 1 / (1 + math.Exp(-odds))
		loss -= in[j]*math.Log(p) + (1-in[j])*math.Log(1-p)
	}
	return loss
}

func (n *Network) flat() []float64 {
	var theta []float64
	for l := range layers {
		for _, w := range n.Layer(l) {
			theta = append(theta, float64(w))
		}
	}
	return theta
}

// materialise returns the gradient of a record, which consists of the outer products of the pairs,
// one after another.
func materialise(pairs []dpmech.Pair) []float64 {
	var g []float64
	for _, p := range pairs {
		for _, a := range p.Inputs {
			for _, b := range p.Outputs {
				g = append(g, float64(a)*float64(b))
			}
		}
	}
	return g
}

func norm(v []float64) float64 {
	var s float64
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}

// For every weight, the test compares a record's gradient with a finite difference of its loss.
func TestGradientAgainstFiniteDifferences(t *testing.T) {
	n := network(t, 1)
	images := made(recordsAtOnce-1, small.Pixels)
	p := newPass(n)
	forward(p, images, seeded.Stream(2, "bits"))
	theta := n.flat()
	for _, i := range []int{0, 1, 5, 6, len(images) - 1} {
		x, e := p.in[encoderHidden].row(i, small.Pixels), p.deviates[i*small.Latent:][:small.Latent]
		if got, want := p.loss(i), plainLoss(small, theta, x, e); math.Abs(got-want) > 1e-4 {
			t.Errorf("record %d: loss %v, want %v", i, got, want)
		}
	}
	p.reverse(len(images))
	for _, i := range []int{0, 5, 6, len(images) - 1} {
		x, e := p.in[encoderHidden].row(i, small.Pixels), p.deviates[i*small.Latent:][:small.Latent]
		got := materialise(p.pairsOf(i))
		if len(got) != small.Parameters() {
			t.Fatalf("%d derivatives for %d weights", len(got), small.Parameters())
		}
		size := norm(got)
		for j := range theta {
			const h = 1e-5
			saved := theta[j]
			theta[j] = saved + h
			up := plainLoss(small, theta, x, e)
			theta[j] = saved - h
			want := (up - plainLoss(small, theta, x, e)) / (2 * h)
			theta[j] = saved
			if math.Abs(got[j]-want) > 1e-5*size {
				t.Fatalf("record %d, weight %d: derivative %v, by differences %v", i, j, got[j], want)
			}
		}
	}
}

// The network of the d3p paper must have as many weights as the paper says.
func TestParameters(t *testing.T) {
	if got := mnist.Parameters(); got != 688884 {
		t.Errorf("%d parameters, d3p has 688884", got)
	}
}

func mechanism(t testing.TB, records, together int, sampling dpmech.Sampling, clip, sigma float64) *dpmech.ProductSum {
	t.Helper()
	m, err := dpmech.NewProductSum(dpmech.ProductConfig{
		Sampling: sampling, Records: records, Steps: 100, Layers: small.Layers(),
		Clip: clip, NoiseMultiplier: sigma, Together: together, Adjacency: accountant.AddRemove,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A private step must release the sum of clipped gradients plus noise. The test computes each
// gradient explicitly and clips it by its own norm. Each element of the release must be within
// seven standard deviations of the noise. Correct noise is outside with probability 1e-9.
func TestStepReleasesClippedGradients(t *testing.T) {
	const records, clip, sigma = 40, 30., 1e-3
	n := network(t, 3)
	m := mechanism(t, records, 30, dpmech.FullBatch{}, clip, sigma)
	sums := begin(t, m, 4)
	images := made(records, small.Pixels)
	tr := newTrainer(t, n, images, sums, records, Options{Rate: 1e-3, Batch: records, Workers: 2}, 5)
	var err error
	if tr.batch, err = sums.Next(); err != nil {
		t.Fatal(err)
	}
	want, clipped := make([]float64, small.Parameters()), 0
	tr.cut()
	if len(tr.cuts) < 3 {
		t.Fatalf("chunks %v: more records would do", tr.cuts)
	}
	for chunk, from := range tr.cuts[:len(tr.cuts)-1] {
		tr.takeChunk(0, chunk)
		for i := range min(tr.cuts[chunk+1]*math32.TileRows, records) - from*math32.TileRows {
			g := materialise(tr.passes[0].pairsOf(i))
			size := norm(g)
			if size > clip {
				clipped++
			}
			for j := range g {
				want[j] += g[j] * min(1, clip/size)
			}
		}
	}
	if clipped == 0 || clipped == records {
		t.Fatalf("%d of %d gradients are clipped: choose another clip", clipped, records)
	}
	at, got := 0, make([]float64, 0, len(want))
	offsets := map[int]int{}
	for l, layer := range small.Layers() {
		offsets[l] = at
		at += layer.Inputs * layer.Outputs
	}
	got = got[:len(want)]
	for i, part := range sums.Parts() {
		dst := make([]float32, sums.Size(i))
		if err := sums.Release(i, dst); err != nil {
			t.Fatal(err)
		}
		layer, height := small.Layers()[part.Layer], part.To-part.From
		for k, x := range dst {
			row, column := part.From+k/math32.TileColumns%height, k/(height*math32.TileColumns)*math32.TileColumns+k%math32.TileColumns
			if row < layer.Inputs && column < layer.Outputs {
				got[offsets[part.Layer]+row*layer.Outputs+column] = float64(x)
			}
		}
	}
	for j := range want {
		if math.Abs(got[j]-want[j]) > 7*m.Sigma()+1e-4 {
			t.Fatalf("weight %d: released %v, want %v", j, got[j], want[j])
		}
	}
}

// train returns the weights after some steps with the given number of workers.
func train(t *testing.T, workers, steps int, private bool) []float64 {
	t.Helper()
	n := network(t, 6)
	images := made(300, small.Pixels)
	sampling := dpmech.Poisson{Rate: 0.1}
	batches := sampler(t, sampling, len(images))
	var sums Sums = NewPlain(small, batches, seeded.Stream(7, "batches"))
	if private {
		sums = begin(t, mechanism(t, len(images), 30, sampling, 1, 1), 7)
	}
	tr := newTrainer(t, n, images, sums, batches.MaxBatch(), Options{Rate: 1e-2, Batch: 30, Workers: workers}, 8)
	for range steps {
		if err := tr.Step(); err != nil {
			t.Fatal(err)
		}
	}
	return n.flat()
}

// The number of workers must not affect the result of training.
func TestWorkersAgree(t *testing.T) {
	for _, private := range []bool{false, true} {
		want := train(t, 1, 12, private)
		for _, workers := range []int{2, 5} {
			if got := train(t, workers, 12, private); !slices.Equal(got, want) {
				t.Errorf("private %v: %d workers have other weights than one", private, workers)
			}
		}
	}
}

// The number of workers must not affect the loss of many images. The loss must equal the mean loss
// that the network computes image by image from the same random numbers.
func TestLossOfAnyWorkers(t *testing.T) {
	n := network(t, 9)
	images := made(2*recordsAtOnce+5, small.Pixels)
	p, src, want := newPass(n), seeded.Stream(12, "bits"), 0.0
	for chunk := range slices.Chunk(images, recordsAtOnce) {
		forward(p, chunk, src)
		for i := range chunk {
			want += p.loss(i)
		}
	}
	for _, workers := range []int{1, 3} {
		tr := newTrainer(t, n, images, nil, 1, Options{Rate: 1, Batch: 1, Workers: workers}, 1)
		if got := tr.Loss(images, seeded.Stream(12, "bits")); got != want/float64(len(images)) {
			t.Errorf("%d workers: loss %v, want %v", workers, got, want/float64(len(images)))
		}
	}
}

// Steps must lower the loss on images with structure, and must leave the padding of the weights
// zero.
func TestTrainingLearns(t *testing.T) {
	n := network(t, 9)
	rng := rand.New(rand.NewPCG(1, 2))
	images := made(400, small.Pixels)
	for _, image := range images { // each image is one of three pictures
		which := rng.IntN(3)
		for j := range image {
			image[j] = 0
			if j%3 == which {
				image[j] = 255
			}
		}
	}
	batches := sampler(t, dpmech.Poisson{Rate: 0.1}, len(images))
	plain := NewPlain(small, batches, seeded.Stream(10, "batches"))
	tr := newTrainer(t, n, images, plain, batches.MaxBatch(), Options{Rate: 1e-2, Batch: 40, Workers: 2}, 11)
	before := tr.Loss(images, seeded.Stream(12, "bits"))
	for range 400 {
		if err := tr.Step(); err != nil {
			t.Fatal(err)
		}
	}
	// The entropy of the images is log 3 = 1.1 nats.
	if after := tr.Loss(images, seeded.Stream(12, "bits")); !(before > 14 && after < 2.5) {
		t.Errorf("loss %.3f before and %.3f after", before, after)
	}
	for l, w := range n.weights {
		for i, x := range w.Data {
			row, column := i/math32.TileColumns%w.Height(), i/(w.Height()*math32.TileColumns)*math32.TileColumns+i%math32.TileColumns
			if (row >= w.Rows || column >= w.Columns) && x != 0 {
				t.Fatalf("layer %d has %v at (%d, %d), beyond the matrix", l, x, row, column)
			}
		}
	}
	for _, image := range n.Reconstruct(images[:5], seeded.Stream(13, "bits")) {
		for _, x := range image {
			if !(x >= 0 && x <= 1) {
				t.Fatalf("a pixel has probability %v", x)
			}
		}
	}
	for _, image := range n.Generate(5, seeded.Stream(14, "latent")) {
		which := slices.Max(image[:3])
		for j, x := range image {
			if math.Abs(float64(x-image[j%3])) > 0.35 {
				t.Errorf("pixel %d of a picture has probability %v where its like has %v of at most %v", j, x, image[j%3], which)
			}
		}
	}
}

// A record's gradient must have the same bits at any position in a chunk.
func TestGradientDependsOnNoPlace(t *testing.T) {
	n := network(t, 15)
	images := made(recordsAtOnce, small.Pixels)
	var want []float64
	for place := range recordsAtOnce {
		p := newPass(n)
		src := seeded.Stream(uint64(place), "others")
		for i, image := range images {
			p.load(i, image, src)
		}
		p.load(place, images[0], seeded.Stream(1, "bits"))
		p.encode(recordsAtOnce)
		dpmech.FillNormal(p.deviates, src)
		p.deviate(recordsAtOnce)
		for k := range small.Latent {
			z, m, s := p.in[decoderHidden].row(place, small.Latent), p.out[encoderOutput].row(place, small.Latent), p.spread.row(place, small.Latent)
			p.deviates[place*small.Latent+k] = 0.5
			z[k] = m[k] + s[k]*0.5
		}
		p.decode(recordsAtOnce)
		p.reverse(recordsAtOnce)
		got := materialise(p.pairsOf(place))
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Fatalf("at place %d a record has another gradient than at place 0", place)
		}
	}
}

// Pixels must be drawn with the probabilities of the image. Each count must be within six standard
// deviations. Correct draws are outside with probability 2e-9.
func TestPixelsAreDrawn(t *testing.T) {
	n := network(t, 16)
	p := newPass(n)
	image := make([]byte, small.Pixels)
	for j := range image {
		image[j] = []byte{0, 255, 1, 64, 127, 128, 254}[j%7]
	}
	const draws = 20000
	counts := make([]float64, len(image))
	src := seeded.Stream(17, "bits")
	for range draws {
		p.load(0, image, src)
		for j, x := range p.in[encoderHidden].row(0, len(image)) {
			counts[j] += float64(x)
		}
	}
	for j, count := range counts {
		want := float64(image[j]) / 255
		if math.Abs(count/draws-want) > 6*math.Sqrt(want*(1-want)/draws)+1e-4*want*(1-want) {
			t.Errorf("a pixel of %d is 1 in %v of draws", image[j], count/draws)
		}
	}
}

// Chunks must cover the batch, consist of whole tiles that fit in a pass, and end with a small
// chunk.
func TestChunks(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 16, 200} {
		tr := &Trainer{options: Options{Workers: workers}}
		for records := range 400 {
			tr.batch = make([]uint32, records)
			tr.cut()
			tiles := math32.Tiles(records, math32.TileRows)
			if tr.cuts[0] != 0 || tr.cuts[len(tr.cuts)-1] != tiles {
				t.Fatalf("%d workers: %d records in %v", workers, records, tr.cuts)
			}
			last := recordsAtOnce
			for i, to := range tr.cuts[1:] {
				n := (to - tr.cuts[i]) * math32.TileRows
				if n <= 0 || n > last {
					t.Fatalf("%d workers: %d records in %v", workers, records, tr.cuts)
				}
				last = n
			}
			if workers > 1 && records > 0 && last > math32.TileRows {
				t.Fatalf("%d workers: %d records end with %d at a time", workers, records, last)
			}
		}
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	n := network(t, 18)
	images := made(100, small.Pixels)
	sums := begin(t, mechanism(t, len(images), 30, dpmech.Poisson{Rate: 0.1}, 1, 1), 19)
	tr := newTrainer(t, n, images, sums, 100, Options{Rate: 1e-3, Batch: 10, Workers: 2}, 20)
	if allocations := testing.AllocsPerRun(30, func() {
		if err := tr.Step(); err != nil {
			t.Fatal(err)
		}
	}); allocations != 0 {
		t.Errorf("%v allocations a step", allocations)
	}
}

func TestRefusals(t *testing.T) {
	for _, s := range []Shape{{Hidden: 1, Latent: 1}, {Pixels: 1, Latent: 1}, {Pixels: 1, Hidden: 1}, {Pixels: 1 << 20, Hidden: 1, Latent: 1}} {
		if _, err := NewNetwork(s, seeded.Stream(1, "weights")); err == nil {
			t.Errorf("%v was taken", s)
		}
	}
	n := network(t, 21)
	plain := NewPlain(small, sampler(t, dpmech.FullBatch{}, 2), seeded.Stream(1, "batches"))
	good := Options{Rate: 1, Batch: 1, Workers: 1}
	if _, err := NewTrainer(n, [][]byte{make([]byte, 3)}, plain, 2, good, seeded.Stream(1, "bits")); err == nil {
		t.Error("an image of another size was taken")
	}
	if _, err := NewTrainer(n, nil, plain, 2, Options{}, seeded.Stream(1, "bits")); err == nil {
		t.Error("a step size of zero was taken")
	}
	if err := newTrainer(t, n, made(2, small.Pixels), plain, 0, good, 1).Step(); err == nil {
		t.Error("a batch was taken for which there is no room")
	}
}
