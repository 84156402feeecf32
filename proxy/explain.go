package proxy

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

var refusedExplain = refusal{403, "invalid_request_error", "explain_not_allowed",
	"Strata: X-Strata-Explain is answered on a loopback listener, or with the admin token as Bearer.", false}

// explain answers with the decision and the body that would be sent. Nothing
// goes upstream, nothing is stored.
func (x *exchange) explain() {
	if !x.s.cfg.Loopback && !x.s.isAdmin(string(x.ctx.Request.Header.Peek("Authorization"))) {
		x.refuse(refusedExplain)
		return
	}
	b, err := json.Marshal(struct {
		account
		Stable   string `json:"stable_block"`
		Volatile string `json:"volatile_block"`
		Body     string `json:"body"`
	}{x.account(true), x.d.result.Stable, x.d.result.Volatile, string(x.body)})
	if err != nil {
		panic("BUG: an explanation does not encode: " + err.Error())
	}
	x.close = x.close || x.rest != nil || x.s.draining.Load() || !x.ctx.Request.Header.IsHTTP11()
	x.sent = time.Now()
	x.out = append(x.out[:0], "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"...)
	x.out = x.appendOwnHeaders(x.out)
	if x.close {
		x.out = append(x.out, "Connection: close\r\n"...)
	}
	x.out = append(x.out, "Content-Length: "...)
	x.out = strconv.AppendInt(x.out, int64(len(b)), 10)
	x.out = append(x.out, "\r\n\r\n"...)
	x.out = append(x.out, b...)
	x.write(x.out)
	if x.rest != nil {
		x.rest.drain()
	}
}

func (s *Server) isAdmin(authorization string) bool {
	token, ok := strings.CutPrefix(authorization, "Bearer ")
	have, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.cfg.AdminToken))
	return ok && s.cfg.AdminToken != "" && subtle.ConstantTimeCompare(have[:], want[:]) == 1
}
