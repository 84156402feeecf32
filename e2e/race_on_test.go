//go:build race

package e2e_test

// raceDetector tells that everything takes several times as long.
const raceDetector = true
