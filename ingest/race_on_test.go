//go:build race

package ingest_test

// raceDetector tells that everything takes several times the memory.
const raceDetector = true
