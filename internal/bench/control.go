package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const controlToken = "bench-0000000000000000"

// call asks the control plane of a Strata and decodes what it answers into
// out, if that is not nil. user may be empty.
func (t *target) call(ctx context.Context, method, path, user, mediaType string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+t.ctrl+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+controlToken)
	req.Header.Set("Content-Type", mediaType)
	if user != "" {
		req.Header.Set("X-Strata-User", user)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s answered %d: %.300s", method, path, resp.StatusCode, said)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(said, out)
}

// remember adds a memory of the user.
func (t *target) remember(ctx context.Context, user, kind, topic, summary string) error {
	body, err := json.Marshal(map[string]string{"memory_type": kind, "topic": topic, "summary": summary})
	if err != nil {
		return err
	}
	return t.call(ctx, http.MethodPost, "/v1/memories", user, "application/json", body, nil)
}

// learnAll has everything learned that is recorded.
func (t *target) learnAll(ctx context.Context) error {
	for {
		var left struct {
			Pending int `json:"pending"`
		}
		if err := t.call(ctx, http.MethodPost, "/v1/learn/flush", "", "application/json", nil, &left); err != nil {
			return err
		}
		if left.Pending == 0 {
			return nil
		}
	}
}

// memories counts the active memories of a user.
func (t *target) memories(ctx context.Context, user string) (int, error) {
	var list struct {
		Memories []json.RawMessage `json:"memories"`
	}
	err := t.call(ctx, http.MethodGet, "/v1/memories?limit=500", user, "application/json", nil, &list)
	return len(list.Memories), err
}

// answerHeader is the value of a header line of an answer that client has
// just read, by its name as Strata spells it.
func (c *client) answerHeader(name string) (string, error) {
	head, _, _ := bytes.Cut(c.buf, blankLine)
	_, rest, ok := bytes.Cut(head, []byte("\r\n"+name+": "))
	if !ok {
		return "", errors.New("an answer without " + name)
	}
	value, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return string(value), nil
}
