package upstreamtest

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxDepth ends the walk into a schema that refers to itself.
const maxDepth = 16

// sampleOf is a value that fits a JSON schema: the first constant or enum value,
// else a fixed one of the type. All named properties are filled.
func sampleOf(schema json.RawMessage) any {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return object{}
	}
	return sample(root, root, 0)
}

func sample(root map[string]any, node any, depth int) any {
	schema, _ := node.(map[string]any)
	if depth > maxDepth {
		return nil
	}
	if value, ok := schema["const"]; ok {
		return value
	}
	if values, _ := schema["enum"].([]any); len(values) > 0 {
		return values[0]
	}
	if ref, _ := schema["$ref"].(string); ref != "" {
		return sample(root, follow(root, ref), depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if options, _ := schema[key].([]any); len(options) > 0 {
			return sample(root, options[0], depth+1)
		}
	}
	switch schemaType(schema) {
	case "string":
		return "text"
	case "integer", "number":
		return sampleNumber(schema)
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		return sampleArray(root, schema, depth)
	}
	properties, _ := schema["properties"].(map[string]any)
	out := make(object, len(properties))
	for name, property := range properties {
		out[name] = sample(root, property, depth+1)
	}
	return out
}

func sampleNumber(schema map[string]any) any {
	if low, ok := schema["minimum"]; ok {
		return low
	}
	return 1
}

func sampleArray(root, schema map[string]any, depth int) any {
	items, ok := schema["items"]
	if !ok {
		return []any{}
	}
	return []any{sample(root, items, depth+1)}
}

// schemaType is the type, or the first of a list of types.
func schemaType(schema map[string]any) string {
	if list, _ := schema["type"].([]any); len(list) > 0 {
		first, _ := list[0].(string)
		return first
	}
	name, _ := schema["type"].(string)
	return name
}

// follow resolves a reference into the same document, such as #/$defs/item.
func follow(root map[string]any, ref string) any {
	var node any = root
	for part := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if part == "" {
			continue
		}
		switch at := node.(type) {
		case map[string]any:
			node = at[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(at) {
				return nil
			}
			node = at[i]
		}
	}
	return node
}
