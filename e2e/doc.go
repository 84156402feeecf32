// Package e2e tests the whole program: the binary as it is built for release,
// driven over real sockets by the clients people use, and compared with the
// same calls made without it.
//
// It decides what the outside must not notice. It must not know how anything
// inside works: it reads documented addresses, variables, headers and metrics,
// and takes nothing from the program's packages but the scripted upstream.
package e2e
