package textindex

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

// codes are the vectors of a matrix once more, in seven bits a number. They
// tell how near a vector can be at most, from a quarter of the memory: only
// those that can be among the nearest are then compared by their numbers.
//
// What is coded is how a vector differs from the mean of all. With many models
// all vectors point nearly the same way, and that part tells nothing apart.
// Whatever the mean is, the answers are the same; a good one makes them fast.
type codes struct {
	mean  []float32
	taken int      // of how many vectors the mean is
	words []uint64 // eight numbers each; a vector begins a word
	marks []mark   // one for each vector
}

// mark is what is known of a vector u that was coded: each number c of its code
// stands for step*(c-64).
type mark struct {
	step   float32
	base   int32   // of all c: the sum of 64*c-2048
	mean   float32 // u times the mean
	length float32 // of u
	lost   float32 // the length of what the code does not tell of u
}

const markBytes = 20

// vectorBytes is the memory of a vector: numbers, code, and what it is called.
func vectorBytes(dims int64) int64 { return 4*dims + 8*((dims+7)/8) + markBytes + 8 }

func (c *codes) bytes() int64 {
	return 8*int64(cap(c.words)) + markBytes*int64(cap(c.marks)) + 4*int64(cap(c.mean))
}

func codeWords(dims int) int { return (dims + 7) / 8 }

// with returns the codes of all values; those that c has stay where they are.
func (c codes) with(values []float32, dims int) codes {
	n := len(values) / dims
	if n >= 2*c.taken { // also the first ones
		room := cap(values) / dims
		c = codes{mean: meanOf(values, dims), taken: n, words: make([]uint64, 0, room*codeWords(dims)), marks: make([]mark, 0, room)}
	}
	had, size := len(c.marks), codeWords(dims)
	c.marks = slices.Grow(c.marks, n-had)[:n]
	c.words = slices.Grow(c.words, (n-had)*size)[:n*size]
	inParts(n-had, func(from, to int) {
		differs := make([]float32, dims)
		for i := had + from; i < had+to; i++ {
			c.marks[i] = c.code(values[i*dims:(i+1)*dims], differs, c.words[i*size:(i+1)*size])
		}
	})
	return c
}

// meanOf takes a few thousand that stand evenly among all.
func meanOf(values []float32, dims int) []float32 {
	mean, n := make([]float32, dims), 0
	for stride := dims * (1 + len(values)/dims/4096); len(values) > 0; n++ {
		for i, x := range values[:dims] {
			mean[i] += x
		}
		values = values[min(stride, len(values)):]
	}
	for i := range mean {
		mean[i] /= float32(max(1, n))
	}
	return mean
}

// code writes words for a vector, and how it differs from the mean.
func (c *codes) code(vector, differs []float32, words []uint64) mark {
	var most, least float32
	for i, x := range vector {
		x -= c.mean[i]
		differs[i] = x
		if x > most {
			most = x
		} else if x < least {
			least = x
		}
	}
	step := max(most, -least) / 63
	up := 1 / step // of the mean itself that is no number: then c is anything, times 0
	var sum int32
	var lost float32
	for w := range words {
		var word uint64
		eight := differs[8*w : min(8*w+8, len(differs))]
		for _, x := range eight {
			n := int32(x*up + 64.5)
			left := x - step*float32(n-64)
			lost += left * left
			sum += n
			word = word>>8 | uint64(n&0x7f)<<56
		}
		words[w] = word >> (64 - 8*len(eight))
	}
	return mark{step: step, base: 64*sum - 2048*int32(len(differs)), mean: dot(differs, c.mean), length: length(dot(differs, differs)), lost: length(lost)}
}

func length(square float32) float32 { return float32(math.Sqrt(float64(square))) }

// asked is a vector that others are compared with.
type asked struct {
	mark
	// words are its code: of each eight numbers the even and the odd ones, the
	// first of four at the top.
	words  [][2]uint64
	around float32 // what every bound has
}

func (c *codes) ask(vector []float32) asked {
	differs, words := make([]float32, len(vector)), make([]uint64, codeWords(len(vector)))
	q := asked{mark: c.code(vector, differs, words), words: make([][2]uint64, len(words))}
	for i, w := range words {
		q.words[i] = [2]uint64{turn(w & fours), turn(w >> 8 & fours)}
	}
	// Sums of products are off in their last bits.
	q.around = dot(vector, c.mean) + float32(len(vector))*0x1p-22
	return q
}

// fours are four numbers of a word of eight, with room for products.
const fours = 0x00ff00ff00ff00ff

// turn puts the first of four last.
func turn(w uint64) uint64 {
	return w<<48 | w<<16&(0xff<<32) | w>>16&(0xff<<16) | w>>48
}

// bound is at least the cosine of q and the vector with a code. With u and r
// for how the two differ from the mean, and u' and r' for what their codes tell,
// u*r - u'*r' = u'*(r-r') + (u-u')*r, and no product is above that of the
// lengths.
func (q *asked) bound(code []uint64, m *mark) float32 {
	near := q.step * m.step * float32(codeDot(code, q.words)-int64(m.base)-int64(q.base))
	return q.around + m.mean + near + q.lost*(m.length+m.lost) + q.length*m.lost
}

// codeDot is the sum of products of two codes. A multiplication of words does
// four at a time: what belongs together meets in the highest 16 bits, which hold
// four times 127*127, and so does all below.
func codeDot(code []uint64, q [][2]uint64) int64 {
	var s, t uint64
	for len(code) >= 4 && len(q) >= 4 {
		s += (code[0] & fours) * q[0][0] >> 48
		t += (code[0] >> 8 & fours) * q[0][1] >> 48
		s += (code[1] & fours) * q[1][0] >> 48
		t += (code[1] >> 8 & fours) * q[1][1] >> 48
		s += (code[2] & fours) * q[2][0] >> 48
		t += (code[2] >> 8 & fours) * q[2][1] >> 48
		s += (code[3] & fours) * q[3][0] >> 48
		t += (code[3] >> 8 & fours) * q[3][1] >> 48
		code, q = code[4:], q[4:]
	}
	for i, w := range code {
		s += (w & fours) * q[i][0] >> 48
		t += (w >> 8 & fours) * q[i][1] >> 48
	}
	return int64(s + t)
}

// part is how many vectors are worth a goroutine.
const part = 16 << 10

// inParts does what is to be done for n vectors, on several processors where
// there are many.
func inParts(n int, do func(from, to int)) {
	workers := min(max(1, n/part), runtime.GOMAXPROCS(0))
	each := (n + workers - 1) / workers
	var group sync.WaitGroup
	for from := each; from < n; from += each {
		group.Go(func() { do(from, min(from+each, n)) })
	}
	do(0, min(each, n))
	group.Wait()
}
