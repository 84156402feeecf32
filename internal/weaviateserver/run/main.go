// Command run installs a Weaviate server and runs it on loopback until it is
// interrupted, with its data in the user's cache folder. It must not know how
// the server is built or set up.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"strata/internal/weaviateserver"
)

func main() {
	install := flag.Bool("install", false, "install the server and do not run it")
	port := flag.Int("port", 8080, "port on 127.0.0.1")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *install, *port); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, installOnly bool, port int) error {
	if _, err := weaviateserver.Binary(); err != nil {
		fmt.Println("building Weaviate", weaviateserver.Version+", which takes minutes the first time")
	}
	path, err := weaviateserver.Install(ctx, os.Stderr)
	if err != nil || installOnly {
		return err
	}
	s, err := weaviateserver.New(weaviateserver.Config{Dir: filepath.Join(filepath.Dir(path), "data"), Port: port, Log: os.Stderr})
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	fmt.Printf("Weaviate answers at %s. For Strata:\n  export STRATA_INDEX_URL=%s STRATA_INDEX_API_KEY=%s\n", s.URL(), s.URL(), weaviateserver.Key)
	select {
	case <-ctx.Done():
		return s.Stop()
	case <-s.Ended():
		return fmt.Errorf("the server has ended by itself")
	}
}
