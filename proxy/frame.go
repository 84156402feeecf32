package proxy

// frameHead is the room for a chunk's size line: up to six digits, CR LF.
const frameHead = 8

// frameSize is how much of a body is carried at a time.
const frameSize = 16 << 10

const hexDigits = "0123456789abcdef"

// frame carries a piece of a body with room around it, so that data and its
// chunk framing leave in one write.
type frame struct {
	b [frameHead + frameSize + 8]byte
}

func (f *frame) room() []byte { return f.b[frameHead : frameHead+frameSize] }

func (f *frame) data(n int) []byte { return f.b[frameHead : frameHead+n] }

// chunk frames the n bytes read into room, and the end of the body when last
// is set and there are no trailers.
func (f *frame) chunk(n int, last bool) []byte {
	start, end := frameHead, frameHead+n
	if n > 0 {
		f.b[frameHead-2], f.b[frameHead-1] = '\r', '\n'
		start = frameHead - 2
		for v := n; v > 0; v >>= 4 {
			start--
			f.b[start] = hexDigits[v&15]
		}
		end += copy(f.b[end:], "\r\n")
	}
	if last {
		end += copy(f.b[end:], "0\r\n\r\n")
	}
	return f.b[start:end]
}
