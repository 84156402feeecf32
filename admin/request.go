package admin

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"strata/stores"
)

const (
	maxIdentity = 256      // bytes of a tenant, user or session
	maxID       = 512      // bytes of any other id
	maxJSON     = 64 << 10 // bytes of a JSON body
	maxPage     = 500      // rows of a list
	defaultPage = 50
)

// request is a call with its identity read. Tenant and user are the only ones
// that any handler uses.
type request struct {
	*http.Request
	tenant  string
	user    string // "" = the operator's view of the tenant
	session string
	zone    *time.Location
	query   map[string]string // the parameters that the route takes
}

// read takes identity and parameters from r. Anything malformed, repeated or
// unknown is refused: a mistyped ?user= must not become the operator's view.
func (c *calls) read(r *http.Request, params []string) (*request, error) {
	req := &request{Request: r, tenant: c.cfg.Tenant, zone: c.cfg.Zone, query: map[string]string{}}
	headers, err := identityHeaders(r)
	if err != nil {
		return nil, err
	}
	if t := headers["X-Strata-Tenant"]; t != "" {
		req.tenant = t
	}
	if req.tenant == "" {
		return nil, stores.ErrScope
	}
	if err := req.readQuery(params); err != nil {
		return nil, err
	}
	req.session = headers["X-Strata-Session"]
	req.user = headers["X-Strata-User"]
	if u := req.query["user"]; u != "" {
		if req.user != "" && req.user != u {
			return nil, invalid("user", "?user= and X-Strata-User name two users; send one")
		}
		req.user = u
	}
	return req, req.readZone(headers["X-Strata-Timezone"])
}

func identityHeaders(r *http.Request) (map[string]string, error) {
	headers := map[string]string{}
	for _, name := range []string{"X-Strata-Tenant", "X-Strata-User", "X-Strata-Session", "X-Strata-Groups", "X-Strata-Timezone"} {
		values := r.Header.Values(name)
		if len(values) > 1 {
			return nil, invalid(name, "sent more than once")
		}
		if len(values) == 1 {
			headers[name] = values[0]
		}
		if why := malformed(headers[name], maxIdentity); why != "" {
			return nil, invalid(name, why)
		}
	}
	return headers, nil
}

func (r *request) readZone(name string) error {
	if name == "" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return invalid("X-Strata-Timezone", "not a time zone; write it like Asia/Shanghai")
	}
	r.zone = zone
	return nil
}

func (r *request) readQuery(params []string) error {
	query, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	for name, values := range query {
		switch {
		case name != "user" && !slices.Contains(params, name):
			return &problem{http.StatusBadRequest, "unknown_parameter", "?" + printable(name) + "= is not known here; known: " + strings.Join(append([]string{"user"}, params...), ", ")}
		case len(values) > 1:
			return invalid(name, "given more than once")
		}
		if why := malformed(values[0], maxID); why != "" || name == "user" && len(values[0]) > maxIdentity {
			return invalid(name, "longer than allowed, or holding control characters or bytes that are not UTF-8")
		}
		r.query[name] = values[0]
	}
	return nil
}

// id is the last part of the path, whatever its escapes.
func (r *request) id() (string, error) {
	id := r.PathValue("id")
	if id == "" {
		return "", stores.ErrNotFound
	}
	if why := malformed(id, maxID); why != "" {
		return "", invalid("id", why)
	}
	return id, nil
}

// page reads limit and cursor.
func (r *request) page() (limit int, cursor string, err error) {
	limit = defaultPage
	if text := r.query["limit"]; text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxPage {
			return 0, "", invalid("limit", "a whole number from 1 to 500")
		}
	}
	return limit, r.query["cursor"], nil
}

// flag reads a parameter that is true or false.
func (r *request) flag(name string, unsaid bool) (bool, error) {
	switch r.query[name] {
	case "":
		return unsaid, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, invalid(name, "true or false")
}

// malformed tells why text cannot be an identity or id, "" if it can.
func malformed(text string, limit int) string {
	switch {
	case len(text) > limit:
		return "longer than " + strconv.Itoa(limit) + " bytes"
	case !utf8.ValidString(text):
		return "not UTF-8"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "holds control characters"
	}
	return ""
}

// printable cuts what a caller sent down to what a message may repeat.
func printable(text string) string {
	if len(text) > 64 || malformed(text, 64) != "" {
		return "…"
	}
	return text
}

// object reads a JSON object of texts. A null is an empty text.
func (r *request) object(w http.ResponseWriter, fields []string) (texts map[string]string, err error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxJSON))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, &problem{http.StatusRequestEntityTooLarge, "body_too_large", "The body is larger than 64 KiB."}
		}
		return nil, &problem{http.StatusBadRequest, "bad_request_body", "The body is cut off or wrongly framed."}
	}
	var raw map[string]json.RawMessage
	if !utf8.Valid(body) || json.Unmarshal(body, &raw) != nil || raw == nil {
		return nil, &problem{http.StatusBadRequest, "invalid_json", "The body is not a JSON object in UTF-8."}
	}
	texts = map[string]string{}
	for name, value := range raw {
		if !slices.Contains(fields, name) {
			return nil, &problem{http.StatusBadRequest, "unknown_field", printable(name) + ": not known here; known: " + strings.Join(fields, ", ")}
		}
		var text *string
		if json.Unmarshal(value, &text) != nil {
			return nil, invalid(name, "takes a text")
		}
		texts[name] = ""
		if text != nil {
			texts[name] = *text
		}
	}
	return texts, nil
}

// parseDate reads RFC 3339 with an offset, or a date: its first second in
// zone, or its last one when end is set. "" is the zero time.
func parseDate(what, text string, zone *time.Location, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	// An unescaped + of a query arrives as a space.
	if at, err := time.Parse(time.RFC3339, strings.Replace(text, " ", "+", 1)); err == nil {
		return at, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil {
		return time.Time{}, invalid(what, "neither a date such as 2026-03-31 nor RFC 3339 with an offset, such as 2026-03-31T18:00:00+08:00")
	}
	if end {
		return time.Date(day.Year(), day.Month(), day.Day(), 23, 59, 59, 0, zone), nil
	}
	return day, nil
}
