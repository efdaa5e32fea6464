package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/term"
)

// maxSecretFile is more than any password or key takes.
const maxSecretFile = 4 << 10

// readPassword takes the password from --password-file, or from the terminal
// without showing it. It never stands in arguments, environment or URLs.
func (c *cli) readPassword(prompt string) (string, error) {
	if c.passwordFile != "" {
		return c.secretFrom(c.passwordFile)
	}
	return c.readSecret(prompt, "There is no terminal to ask for the owner's password on: use --password-file.")
}

// readSecret asks on the terminal without showing the answer; nobody says what to
// do where there is none.
func (c *cli) readSecret(prompt, nobody string) (string, error) {
	terminal, err := c.terminal()
	if err != nil {
		return "", unsafe("%s", nobody)
	}
	defer terminal.Close()
	fmt.Fprint(terminal, prompt)
	password, err := term.ReadPassword(int(terminal.Fd()))
	fmt.Fprintln(terminal)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return string(password), nil
}

// newPassword asks for a password to be set, twice on a terminal.
func (c *cli) newPassword(prompt, file string) (string, error) {
	if file != "" {
		return c.secretFrom(file)
	}
	const nobody = "There is no terminal to ask for a new password on: give it in a file (see --help)."
	first, err := c.readSecret(prompt+": ", nobody)
	if err != nil {
		return "", err
	}
	again, err := c.readSecret(prompt+", again: ", nobody)
	if err != nil {
		return "", err
	}
	if first != again {
		return "", unsafe("The two passwords are not the same.")
	}
	return first, nil
}

// secretFrom reads a file that nobody but its user can read. One line break
// at its end does not count.
func (c *cli) secretFrom(path string) (string, error) {
	content, err := c.secretFile(path)
	if err != nil {
		return "", err
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if text == "" {
		return "", unsafe("The file %s is empty.", path)
	}
	return text, nil
}

func (c *cli) secretFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(c.stdin, maxSecretFile))
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unsafe("There is no file at %s.", path)
	}
	if err != nil {
		return nil, unsafe("The file cannot be read: %v", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, unsafe("The file cannot be read: %v", err)
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return nil, unsafe("Others can read %s: run chmod 600 on it.", path)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSecretFile))
	return bytes.Clone(content), err
}

var errNoTerminal = errors.New("no terminal")

// terminal is where a person can be asked: the process's own terminal, whatever
// its standard input is.
func (c *cli) terminal() (*os.File, error) {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	if !term.IsTerminal(int(terminal.Fd())) {
		terminal.Close()
		return nil, errNoTerminal
	}
	return terminal, nil
}

// prompt asks a person for a line; ok is false where there is nobody to ask.
func (c *cli) prompt(text string) (line string, ok bool, err error) {
	terminal, err := c.terminal()
	if err != nil {
		return "", false, nil
	}
	defer terminal.Close()
	fmt.Fprint(terminal, text)
	line, err = bufio.NewReader(terminal).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", true, fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), true, nil
}
