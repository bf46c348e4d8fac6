package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	from := flag.String("from", "", "section to begin with, on a machine that runs")
	flag.Parse()
	if err := run(os.Stdout, flag.Args(), *from, os.Getenv("BPA_STATE")); err != nil {
		fmt.Fprintln(os.Stderr, "firsthour:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, pages []string, from, state string) error {
	if len(pages) != 1 {
		return errors.New("usage: firsthour [-from SECTION] PAGE")
	}
	raw, err := os.ReadFile(pages[0])
	if err != nil {
		return err
	}
	commands, err := read(string(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", pages[0], err)
	}
	if commands, err = begin(commands, from, state); err != nil {
		return err
	}
	return play(out, filepath.Base(pages[0]), commands)
}

// begin returns the commands from a section on, and checks that the machine is as they need it.
func begin(commands []command, from, state string) ([]command, error) {
	if !filepath.IsAbs(state) {
		return nil, fmt.Errorf("BPA_STATE is %q: set it to the absolute path of the folder of the bootstrap machine", state)
	}
	_, err := os.Stat(filepath.Join(state, "kubeconfig"))
	if from == "" {
		if err == nil {
			return nil, fmt.Errorf("%s has a machine: set BPA_STATE to another folder, or begin on this machine with -from", state)
		}
		return commands, nil
	}
	if err != nil {
		return nil, fmt.Errorf("-from needs a machine that runs: %w", err)
	}
	at := slices.IndexFunc(commands, func(c command) bool { return c.section == from })
	if at < 0 {
		return nil, fmt.Errorf("no section %q with a command", from)
	}
	return commands[at:], nil
}

// play runs the commands in one shell, until one of them fails or prints something else than the page says.
func play(out io.Writer, page string, commands []command) error {
	dir, err := os.MkdirTemp("", "first-hour-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	status, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer status.Close()
	shell := exec.Command("bash")
	shell.ExtraFiles = []*os.File{theirs}
	shell.Stderr = os.Stderr
	input, err := shell.StdinPipe()
	if err != nil {
		return err
	}
	if err := shell.Start(); err != nil {
		return err
	}
	theirs.Close()
	defer func() {
		input.Close()
		_ = shell.Wait()
	}()
	ended, printed := bufio.NewReader(status), filepath.Join(dir, "printed")
	for _, c := range commands {
		begun := time.Now()
		fmt.Fprintf(out, "$ %s\n", c.text)
		if _, err := fmt.Fprintf(input, "{ %s\n} >%s 2>&1 </dev/null 3>&-; echo $? >&3\n", c.text, printed); err != nil {
			return fmt.Errorf("%s:%d: %w", page, c.line, err)
		}
		code, err := ended.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%s:%d: the shell has ended: %w", page, c.line, err)
		}
		raw, err := os.ReadFile(printed)
		if err != nil {
			return err
		}
		text := strings.TrimRight(string(raw), "\n")
		fmt.Fprintf(out, "%s\n(%s)\n", text, time.Since(begun).Round(time.Second))
		var got []string
		if text != "" {
			got = strings.Split(text, "\n")
		}
		if code = strings.TrimSpace(code); code != "0" {
			return fmt.Errorf("%s:%d: %q ends with exit code %s", page, c.line, c.text, code)
		}
		if !matches(c.prints, got) {
			return fmt.Errorf("%s:%d: %q prints something else than the page:\n%s", page, c.line, c.text, strings.Join(c.prints, "\n"))
		}
	}
	return nil
}
