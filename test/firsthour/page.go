package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// command is a command of a page.
type command struct {
	section string // heading
	line    int    // in the page, from 1
	text    string
	prints  []string
}

// forbidden are commands that delete a machine, its data, or objects that the page did not create.
var forbidden = regexp.MustCompile(`\bmake (down|destroy|clean)\b|\bmachine (down|destroy|clean|restore)\b|\brm -|--all( |$)`)

// read returns the commands of the blocks of the kind console.
func read(page string) (commands []command, err error) {
	section, inside, other := "", false, false
	for n, line := range strings.Split(strings.TrimRight(page, "\n"), "\n") {
		text, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case inside && line == "```":
			inside = false
		case inside && isCommand:
			if forbidden.MatchString(text) {
				return nil, fmt.Errorf("line %d: %q is not run: it can delete a machine or what others have created", n+1, text)
			}
			commands = append(commands, command{section: section, line: n + 1, text: text})
		case inside && len(commands) == 0:
			return nil, fmt.Errorf("line %d: %q stands before the first command: a command begins with \"$ \"", n+1, line)
		case inside:
			last := &commands[len(commands)-1]
			last.prints = append(last.prints, line)
		case line == "```console" && !other:
			inside = true
		case strings.HasPrefix(line, "```"):
			other = !other
		case strings.HasPrefix(line, "## ") && !other:
			section = strings.TrimPrefix(line, "## ")
		}
	}
	if inside || other {
		return nil, errors.New("a block does not end")
	}
	if len(commands) == 0 {
		return nil, errors.New("the page has no command")
	}
	return commands, nil
}

// matches reports whether a command has printed what the page says.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == "..." {
		return matches(want[1:], got) || len(got) > 0 && matches(want, got[1:])
	}
	return len(got) > 0 && matchesLine(want[0], got[0]) && matches(want[1:], got[1:])
}

func matchesLine(want, got string) bool {
	parts := strings.Split(strings.TrimRight(want, " "), "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(strings.TrimRight(got, " "))
}
