package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/talaria-agent/talaria/platforms"
)

// mount makes a disk of a size and returns a folder of its own on it.
func mount(t *testing.T, size string) (folder string) {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill takes all the room that a disk still has, until the file is removed.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // it is full
	for _, piece := range []int{1 << 20, 4 << 10} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, piece))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

const noRoomNotice = "my disk is full"

// TestDiskFull fills the disk under the running program: who writes then is told, what was accepted is answered, and with
// the room everything comes back by itself, also if the program was started while there was none. A start that cannot be written down says why.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("too long for a short run")
	}
	t.Parallel()
	const people = 60
	disk := mount(t, "24m")
	s := serveAll(t, people, echo, nil)
	data := filepath.Join(disk, "data")
	config := s.config(t, data, fmt.Sprintf("[http]\nlisten = %q\n", freeAddress(t)))
	p := launch(t, nil, "run", "--config", config)
	for _, name := range allPlatforms {
		s.seat(name, 0).say(t, "hello before-"+string(name))
		s.seat(name, 0).sees(t, "echo before-"+string(name))
	}
	fillers := []string{filepath.Join(disk, "1"), filepath.Join(disk, "2")}
	fill(t, fillers[0])
	full := -1
	for n := 1; n < people && full < 0; n++ { // until what the file of the database still has is used up
		w := s.seat(platforms.Slack, n)
		w.say(t, strings.Repeat("word ", 6000)+fmt.Sprint("n-", n, "."))
		await(t, "a message is answered or refused", w.stage.Changed, func() bool {
			return w.count(fmt.Sprint("echo n-", n, ".")) > 0 || w.count(noRoomNotice) > 0
		})
		if w.count(noRoomNotice) > 0 {
			full = n
		}
	}
	if full < 0 {
		t.Fatal("the disk never was full")
	}
	for _, name := range []platforms.Name{platforms.Telegram, platforms.Discord} {
		s.seat(name, 1).say(t, "hello while-full")
		s.seat(name, 1).sees(t, noRoomNotice)
	}
	launch(t, nil, "health", "--ready", "--config", config).mustExit(t, 1, "full")

	p.signal(t, syscall.SIGTERM)
	p.mustExit(t, 0)
	fill(t, fillers[1]) // the room of the ballast
	p = launch(t, nil, "run", "--config", config)
	poll(t, "the program connects to Discord", func() bool { return s.discord.Connected() == 1 })
	s.seat(platforms.Discord, 2).say(t, "hello still-full")
	s.seat(platforms.Discord, 2).sees(t, noRoomNotice)
	launch(t, nil, "run", "--config", s.config(t, filepath.Join(disk, "new"), "")).mustExit(t, 1, "the disk is full", "Make room there")

	if err := errors.Join(os.Remove(fillers[0]), os.Remove(fillers[1])); err != nil {
		t.Fatal(err)
	}
	s.seat(platforms.Telegram, 1).sees(t, "echo while-full") // Telegram repeats what was not taken
	for _, name := range allPlatforms {
		s.seat(name, 3).say(t, "hello after-"+string(name))
		s.seat(name, 3).sees(t, "echo after-"+string(name))
	}
	launch(t, nil, "health", "--ready", "--config", config).mustExit(t, 0)
	if w := s.seat(platforms.Slack, full); w.count("I have your message") > 0 {
		w.sees(t, fmt.Sprint("echo n-", full, "."))
	}
	p.signal(t, syscall.SIGTERM)
	p.mustExit(t, 0)
	for n := 1; n < full; n++ {
		if c := s.seat(platforms.Slack, n).count(fmt.Sprint("echo n-", n, ".")); c != 1 {
			t.Errorf("message %d was answered %d times", n, c)
		}
	}
	launch(t, nil, "check", "--probe=false", "--config", config).mustExit(t, 0, "is fine", "nothing is damaged") // the model here does nothing but echo

	if err := syscall.Mount("none", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "size=24m"); err != nil {
		t.Fatal(err)
	}
	launch(t, nil, "run", "--config", config).mustExit(t, 1, "cannot be written to", "Make room there")
	launch(t, nil, "sessions", "list", "--config", config).mustExit(t, 0, "hello after-slack")
}
