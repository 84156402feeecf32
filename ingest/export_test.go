package ingest

// Parse is what Put does before it writes anything.
var Parse = parse
