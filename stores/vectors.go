package stores

// Space is an embedder as its vectors show it. Vectors are compared within a
// space only; where name, dimensions or what it makes of the probe differ, it
// is another space.
type Space struct {
	ID    string           `json:"id"` // letters and digits, at most 16; part of keys and collection names
	Model string           `json:"model"`
	Dims  int              `json:"dims"`
	Probe []float32        `json:"probe"` // the vector of a fixed text
	Noise map[string]Noise `json:"noise"` // by language, "en" and "zh"
}

// Noise is how like each other texts look that have nothing to do with each
// other: cosines between them.
type Noise struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"`
}

// Vector is where a passage is in a space.
type Vector struct {
	Passage string    // id
	Values  []float32 // of length 1
}
