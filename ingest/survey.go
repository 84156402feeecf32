package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"strata/stores"
)

// Probe is what two embedders are told apart by.
const Probe = "The quarterly report lists 17 open risks; 第四季度报告列出了十七项未决风险。"

// samples have nothing to do with each other, so that what is measured between
// them is how alike an embedder finds texts of a language at least.
var samples = map[string][]string{
	"en": {
		"Employees may carry over five days of leave into the next year.",
		"The pump must be switched off before the filter is cleaned.",
		"How do I reset my password?",
		"Whales sleep with one half of their brain at a time.",
		"The court dismissed the appeal for want of jurisdiction.",
		"Mix the flour with cold butter until it looks like sand.",
		"Our flight to Lisbon leaves from gate B17.",
		"The compiler rejects programs with unused imports.",
		"Interest is charged from the date of the invoice.",
		"She scored the winning goal in the last minute.",
		"Store the vaccine between two and eight degrees.",
		"What is the speed of light in glass?",
		"The parish church was rebuilt after the fire of 1743.",
		"Customers can return shoes within thirty days.",
		"A minor seventh is ten semitones wide.",
		"The dam supplies water to three provinces.",
		"Please find attached the minutes of the meeting.",
		"Rust forms when iron meets oxygen and water.",
		"Which bus goes to the botanical garden?",
		"The novel is told by an unreliable narrator.",
	},
	"zh": {
		"员工每年可以结转五天年假。",
		"清洗滤网之前必须先关闭水泵。",
		"忘记密码了怎么办？",
		"鲸鱼睡觉时只有半个大脑休息。",
		"法院以无管辖权为由驳回上诉。",
		"把面粉和冷黄油搓成沙粒状。",
		"飞往里斯本的航班在十七号登机口。",
		"编译器不接受没有用到的引用。",
		"利息自发票开具之日起计算。",
		"她在最后一分钟打进制胜一球。",
		"疫苗应在二至八摄氏度保存。",
		"光在玻璃中的速度是多少？",
		"老教堂在火灾之后重新修建。",
		"顾客三十天内可以退鞋。",
		"小七度音程包含十个半音。",
		"这座大坝向三个省供水。",
		"会议纪要见附件，请查收。",
		"铁遇到氧气和水会生锈。",
		"去植物园坐哪路公交车？",
		"小说由一位不可靠的叙述者讲述。",
	},
}

const (
	// alike is the cosine from which two of the samples look the same.
	alike = 0.99
	// alikeAmong is that of Probe among changing texts: those of one call have a
	// part in how a model of few bits rounds. Two models are far below it.
	alikeAmong = 0.95
)

// Survey finds out about an embedder what its vectors will be judged by. embed
// makes vectors of length 1. A language in which most texts look the same to it
// is left out of Noise: it cannot read it. One that can read no language is an
// error, and so are vectors of changing size.
func Survey(ctx context.Context, model string, embed func(context.Context, []string) ([][]float32, error)) (stores.Space, error) {
	texts := []string{Probe}
	for _, lang := range []string{"en", "zh"} {
		texts = append(texts, samples[lang]...)
	}
	vectors, err := embed(ctx, texts)
	if err != nil {
		return stores.Space{}, err
	}
	if len(vectors) != len(texts) {
		return stores.Space{}, fmt.Errorf("ingest: the embedder gives %d vectors for %d texts", len(vectors), len(texts))
	}
	s := stores.Space{Model: model, Dims: len(vectors[0]), Probe: vectors[0], Noise: map[string]stores.Noise{}}
	for _, v := range vectors {
		if len(v) != s.Dims || s.Dims == 0 {
			return stores.Space{}, fmt.Errorf("ingest: the embedder gives vectors of %d numbers and of %d", s.Dims, len(v))
		}
	}
	rest := vectors[1:]
	for _, lang := range []string{"en", "zh"} {
		n := len(samples[lang])
		if noise, ok := noiseOf(rest[:n]); ok {
			s.Noise[lang] = noise
		}
		rest = rest[n:]
	}
	if len(s.Noise) == 0 {
		return stores.Space{}, errors.New("ingest: the embedder makes the same vector of all texts")
	}
	s.ID = spaceID(s)
	return s, nil
}

// noiseOf measures vectors of unrelated texts. It reports whether most of them
// differ.
func noiseOf(vectors [][]float32) (stores.Noise, bool) {
	var sum, squares float64
	var n, same int
	for i, a := range vectors {
		for _, b := range vectors[:i] {
			c := cosine(a, b)
			if !(c < alike) { // also what is not a number
				same++
			}
			sum, squares, n = sum+c, squares+c*c, n+1
		}
	}
	mean := sum / float64(n)
	return stores.Noise{Mean: mean, SD: math.Sqrt(max(0, squares/float64(n)-mean*mean))}, 2*same < n
}

// spaceID names a space by what it is.
func spaceID(s stores.Space) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d", s.Model, s.Dims)
	for _, v := range s.Probe {
		fmt.Fprintf(h, " %x", math.Float32bits(v))
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// Same reports whether vectors of both spaces can be compared: the models have
// one name and size and make nearly the same of the probe.
func Same(a, b stores.Space) bool {
	return a.Model == b.Model && a.Dims == b.Dims && IsProbe(a, b.Probe)
}

// IsProbe reports whether v can be what the embedder of a space makes of Probe
// alone.
func IsProbe(s stores.Space, v []float32) bool {
	return len(v) == len(s.Probe) && cosine(s.Probe, v) >= alike
}

// IsProbeAmong is IsProbe among any other texts of one call.
func IsProbeAmong(s stores.Space, v []float32) bool {
	return len(v) == len(s.Probe) && cosine(s.Probe, v) >= alikeAmong
}

// cosine is that of two vectors of one size, not a number where one is zero.
func cosine(a, b []float32) float64 {
	var dot, x, y float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(x*y)
}
