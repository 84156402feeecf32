package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
)

// jsonObject writes an object as printJSON does, member by member, so that a
// long list need not be in memory. The first error ends it.
type jsonObject struct {
	out     io.Writer
	err     error
	members int
}

// member writes the next member.
func (o *jsonObject) member(name string, value any) {
	o.begin(name)
	o.value(value, "  ")
}

// jsonList writes a list as the next member of o.
func jsonList[T any](o *jsonObject, name string, values iter.Seq2[T, error]) {
	o.begin(name)
	o.write("[")
	n := 0
	for v, err := range values {
		if o.err == nil {
			o.err = err
		}
		if o.err != nil {
			return
		}
		if n++; n > 1 {
			o.write(",")
		}
		o.write("\n    ")
		o.value(v, "    ")
	}
	if n > 0 {
		o.write("\n  ")
	}
	o.write("]")
}

// end writes the end and returns the first error.
func (o *jsonObject) end() error {
	o.write("\n}\n")
	return o.err
}

func (o *jsonObject) begin(name string) {
	before := "{"
	if o.members++; o.members > 1 {
		before = ","
	}
	o.write(before + "\n  ")
	o.value(name, "")
	o.write(": ")
}

func (o *jsonObject) value(v any, margin string) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(margin, "  ")
	if err := enc.Encode(v); err != nil && o.err == nil {
		o.err = err
	}
	o.write(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

func (o *jsonObject) write(text string) {
	if o.err == nil {
		_, o.err = io.WriteString(o.out, text)
	}
}
