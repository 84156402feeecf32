package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"strata/ingest"
	"strata/stores"
)

// errorBody is OpenAI's error shape.
type errorBody struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    string `json:"code"`
}

// problem is a mistake of the caller's, or a state the caller can act on.
type problem struct {
	status        int
	code, message string
}

func (p *problem) Error() string { return p.message }

func (p *problem) body() errorBody {
	kind := "invalid_request_error"
	if p.status >= 500 {
		kind = "server_error"
	}
	return errorBody{p.message, kind, p.code}
}

// invalid is a 400 about one field, header or parameter.
func invalid(what, why string) error {
	return &problem{http.StatusBadRequest, "invalid_value", what + ": " + why}
}

type knownError struct {
	err error
	problem
}

// known are the errors of the parts behind the calls, and their answers.
var known = []knownError{
	{stores.ErrNotFound, problem{http.StatusNotFound, "not_found", "There is no such record of this tenant (and user)."}},
	{stores.ErrAmbiguous, problem{http.StatusConflict, "ambiguous", "Several users have this id; name one with ?user=."}},
	{stores.ErrConflict, problem{http.StatusConflict, "conflict", "The record was changed meanwhile, or an active one states the same; read again and retry."}},
	{stores.ErrScope, problem{http.StatusBadRequest, "user_required", "Name the user with X-Strata-User or ?user=, and the tenant with X-Strata-Tenant."}},
	{stores.ErrCursor, problem{http.StatusBadRequest, "invalid_value", "cursor: not one that a list has given out"}},
	{stores.ErrClosed, problem{http.StatusServiceUnavailable, "store_unavailable", "The store is closed; Strata is stopping."}},
	{ingest.ErrMediaType, problem{http.StatusUnsupportedMediaType, "unsupported_media_type", "This is not a document that can be read; send Markdown, text, HTML, CSV, PDF, docx, xlsx or pptx with its Content-Type."}},
	{ingest.ErrEmpty, problem{http.StatusBadRequest, "empty_document", "The document holds no text; scanned pages have to go through text recognition first."}},
	{ingest.ErrEncoding, problem{http.StatusBadRequest, "bad_encoding", "The document's text is not in a known encoding; send UTF-8."}},
	{ingest.ErrTooLarge, problem{http.StatusRequestEntityTooLarge, "body_too_large", "The document is larger than this Strata takes."}},
	{ingest.ErrDamaged, problem{http.StatusUnprocessableEntity, "damaged_document", "The document is damaged, or is not what its Content-Type or name says."}},
	{ingest.ErrProtected, problem{http.StatusUnprocessableEntity, "protected_document", "The document cannot be opened."}},
	{ingest.ErrLimit, problem{http.StatusUnprocessableEntity, "document_limit", "Reading the document takes more memory or time, or it unpacks to more, than is allowed; split it, or save it as text."}},
	{ingest.ErrID, problem{http.StatusBadRequest, "invalid_value", "id: 1 to 512 bytes of UTF-8 without control characters"}},
	{context.DeadlineExceeded, problem{http.StatusServiceUnavailable, "timeout", "The store did not answer in time; try again."}},
	{context.Canceled, problem{http.StatusServiceUnavailable, "cancelled", "The call was given up."}},
}

// maxDetail is the longest detail in bytes that an answer repeats.
const maxDetail = 200

// with is the problem with what err says beyond the known error, where that
// helps: which limit a document broke, where it is damaged.
func (k knownError) with(err error) *problem {
	detail, more := strings.CutPrefix(err.Error(), k.err.Error()+": ")
	if p := k.problem; more && p.status == http.StatusUnprocessableEntity && len(detail) <= maxDetail {
		p.message += " (" + detail + ")"
		return &p
	}
	return &k.problem
}

// asProblem finds what to answer; known is false for an error of ours.
func asProblem(err error) (p *problem, ours bool) {
	if errors.As(err, &p) {
		return p, false
	}
	for i := range known {
		if errors.Is(err, known[i].err) {
			return known[i].with(err), false
		}
	}
	if errors.Is(err, ingest.ErrFront) { // says more than one sentence for all could
		return &problem{http.StatusBadRequest, "invalid_front_matter", strings.TrimPrefix(err.Error(), "ingest: ")}, false
	}
	return &problem{http.StatusInternalServerError, "internal_error", "Internal error; the log has the details."}, true
}

// fail answers in OpenAI's error shape.
func fail(w http.ResponseWriter, status int, kind, code, message string) {
	answer(w, status, map[string]errorBody{"error": {message, kind, code}})
}

// begin writes the head of an answer in JSON.
func begin(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
}

// answer writes v as JSON.
func answer(w http.ResponseWriter, status int, v any) {
	begin(w, status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client left
}

// errBrokenOff wraps what fails after the status of an answer was told.
var errBrokenOff = errors.New("admin: an answer was broken off")

// deletion is the answer to a DELETE.
type deletion struct {
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// list keeps an empty list from being null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
