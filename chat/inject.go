package chat

// Inject inserts two texts and changes nothing else. stable goes to the end
// of the leading system or developer message, volatile into the last user
// message behind the user's own words; without a leading message that can
// take text, stable comes at the head of volatile. A string grows, a list
// gets one more text part. Without a user message that can take text nothing
// is inserted at all.
//
// inserted are the new ranges in body; cutting them out gives Body again.
// With nothing to insert body is Body itself.
func (r *Request) Inject(stable, volatile string) (body []byte, inserted []Span) {
	return r.InjectInto(nil, stable, volatile)
}

// InjectInto is Inject that writes over buf where there is room enough in it.
// buf must not be Body's.
func (r *Request) InjectInto(buf []byte, stable, volatile string) (body []byte, inserted []Span) {
	last := r.LastUser()
	if (stable == "" && volatile == "") || last < 0 || !r.takesText(last) {
		return r.Body, nil
	}
	leading := len(r.Messages) > 0 && (r.Messages[0].Role == "system" || r.Messages[0].Role == "developer") && r.takesText(0)
	if !leading {
		volatile = join(stable, volatile)
		stable = ""
	}
	out := buf[:0]
	if n := len(r.Body) + len(stable) + len(volatile) + (len(stable)+len(volatile))/8 + 128; cap(out) < n {
		out = make([]byte, 0, n)
	}
	from := 0
	insert := func(i int, text string) {
		if text == "" {
			return
		}
		at := r.Messages[i].Content.End - 1
		out = append(out, r.Body[from:at]...)
		start := len(out)
		out = r.appendInsertion(out, i, text)
		inserted = append(inserted, Span{start, len(out)})
		from = at
	}
	insert(0, stable)
	insert(last, volatile)
	return append(out, r.Body[from:]...), inserted
}

func (r *Request) takesText(i int) bool {
	k := r.Messages[i].Kind
	return k == String || k == Parts
}

// appendInsertion appends what goes before the closing quote or bracket of
// message i's content.
func (r *Request) appendInsertion(dst []byte, i int, text string) []byte {
	m := r.Messages[i]
	if m.Kind == String {
		if m.Content.End-m.Content.Start > 2 {
			dst = append(dst, `\n\n`...)
		}
		return escape(dst, text)
	}
	inside := scanner{b: r.Body[m.Content.Start+1 : m.Content.End-1]}
	if inside.peek() != 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"type":"text","text":"`...)
	dst = escape(dst, text)
	return append(dst, `"}`...)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
