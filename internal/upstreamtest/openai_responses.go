package upstreamtest

import "encoding/json"

// response answers the responses surface with one text message.
func response(body []byte) (*Script, error) {
	var req struct {
		Model  string          `json:"model"`
		Input  json.RawMessage `json:"input"`
		Stream bool            `json:"stream"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	said := chatMessage{Content: req.Input}.text()
	var items []chatMessage
	if json.Unmarshal(req.Input, &items) == nil && len(items) > 0 {
		said = items[len(items)-1].text()
	}
	text := "You said: " + said
	whole := responseObject(req.Model, "completed", text, tokenCount(string(req.Input)))
	if !req.Stream {
		return JSON(200, encode(whole)), nil
	}
	return responseStream(req.Model, text, whole), nil
}

func responseObject(model, status, text string, in int) object {
	output := []object{}
	var counts any
	if status == "completed" {
		output = append(output, responseMessage("completed", responsePart(text)))
		out := tokenCount(text)
		counts = object{"input_tokens": in, "output_tokens": out, "total_tokens": in + out,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}}
	}
	return object{
		"id": "resp_test", "object": "response", "created_at": created, "status": status, "model": model,
		"output": output, "usage": counts, "error": nil, "incomplete_details": nil, "instructions": nil,
		"metadata": object{}, "parallel_tool_calls": true, "temperature": 1, "top_p": 1,
		"tool_choice": "auto", "tools": []object{},
	}
}

func responseMessage(status string, parts ...object) object {
	if parts == nil {
		parts = []object{}
	}
	return object{"type": "message", "id": "msg_test", "status": status, "role": "assistant", "content": parts}
}

func responsePart(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}}
}

// responseStream sends the events of one text message in the order of the API.
func responseStream(model, text string, whole object) *Script {
	s := Stream()
	number := 0
	send := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, number
		number++
		s.WriteString("event: " + kind + "\ndata: " + string(encode(fields)) + "\n\n")
	}
	at := func(fields object) object {
		fields["item_id"], fields["output_index"], fields["content_index"] = "msg_test", 0, 0
		return fields
	}
	begun := responseObject(model, "in_progress", "", 0)
	send("response.created", object{"response": begun})
	send("response.in_progress", object{"response": begun})
	send("response.output_item.added", object{"output_index": 0, "item": responseMessage("in_progress")})
	send("response.content_part.added", at(object{"part": responsePart("")}))
	for _, piece := range tokens(text) {
		send("response.output_text.delta", at(object{"delta": piece, "logprobs": []object{}}))
	}
	send("response.output_text.done", at(object{"text": text, "logprobs": []object{}}))
	send("response.content_part.done", at(object{"part": responsePart(text)}))
	send("response.output_item.done", object{"output_index": 0,
		"item": responseMessage("completed", responsePart(text))})
	send("response.completed", object{"response": whole})
	return s
}
