package main

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// thisProcess is a command that stands for the test itself.
func thisProcess(t *testing.T) *exec.Cmd {
	t.Helper()
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{Process: p}
}

func TestCPUTimeGrowsWithWorkAndNotWithSleep(t *testing.T) {
	work := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); {
		}
	}
	for name, read := range map[string]func(int) (time.Duration, error){"clock": cpuTime, "stat": cpuTimeFromStat} {
		t.Run(name, func(t *testing.T) {
			before, err := read(os.Getpid())
			if err != nil {
				t.Fatal(err)
			}
			// Others may hold the core: work until it shows.
			for range 100 {
				work(20 * time.Millisecond)
				after, err := read(os.Getpid())
				if err != nil {
					t.Fatal(err)
				}
				if after-before >= clockTick {
					return
				}
			}
			t.Error("2 s of work did not show")
		})
	}
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	if got, err := cpuTime(sleeper.Process.Pid); err != nil || got > 500*time.Millisecond {
		t.Errorf("a sleeping process used %s, %v", got, err)
	}
}

func TestClockAndStatAgree(t *testing.T) {
	clock, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	stat, err := cpuTimeFromStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if d := (stat - clock).Abs(); d > 100*time.Millisecond {
		t.Errorf("clock %s, stat %s", clock, stat)
	}
}

func TestResidentMemoryAndOpenFilesOfThisProcess(t *testing.T) {
	before, err := residentMemory(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// Not of the heap, which may have room from before.
	block, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(block) }()
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	after, err := residentMemory(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if grown := after - before; grown < 48<<20 || grown > 96<<20 {
		t.Errorf("grown by %d bytes after touching %d", grown, len(block))
	}
	files, err := openFiles(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if more, err := openFiles(os.Getpid()); err != nil || more != files+1 {
		t.Errorf("%d files, then %d with one more open, %v", files, more, err)
	}
}

func TestContestTakesTurns(t *testing.T) {
	upstream, _ := serve(t)
	self := &target{name: "self", addr: upstream, cmd: thisProcess(t)}
	a, b := &contender{target: self, request: chatRequest()}, &contender{target: self, request: embeddingsRequest()}
	var turns []byte
	c := contest{conns: 1, rounds: 2, exchange: func(c *client) error {
		turns = append(turns, c.request[len("POST /v1/")])
		return c.exchange()
	}}
	if err := c.run(t.Context(), a, b); err != nil {
		t.Fatal(err)
	}
	if got, want := string(turns), "ce"+"cece"; got != want { // c of chat, e of embeddings
		t.Errorf("turns %s, want %s", got, want)
	}
	if len(a.cpu) != 2 || len(b.rate) != 2 || a.cpu[0] <= 0 || b.rate[1] <= 0 {
		t.Errorf("figures %v and %v", a, b)
	}
}
