package hookup

import (
	"os"
	"path/filepath"
	"strings"
)

// Machine is where the client runs.
type Machine struct {
	// Home is the user's folder, Config that of the settings of programs:
	// os.UserConfigDir, by which the clients go too.
	Home, Config string
	Getenv       func(string) string
}

// ThisMachine is the one that the program runs on, for its user.
func ThisMachine() (Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Machine{}, err
	}
	config, err := os.UserConfigDir()
	return Machine{Home: home, Config: config, Getenv: os.Getenv}, err
}

// place is where a file or a folder is: beneath the folder that a variable names,
// else beneath one of the user's folders.
type place struct {
	env    string // variable that names the folder
	config string // folder beneath Machine.Config; else:
	home   string // folder beneath Machine.Home
	file   string
}

func (p place) on(m Machine) string {
	switch {
	case p.file == "":
		return ""
	case p.env != "" && m.Getenv(p.env) != "":
		return filepath.Join(m.Getenv(p.env), p.file)
	case p.config != "":
		return filepath.Join(m.Config, filepath.FromSlash(p.config), p.file)
	}
	return filepath.Join(m.Home, p.home, p.file)
}

// Place says whether the client has a usual place for its settings.
func (c Client) Place() bool { return c.place.file != "" }

// File is the client's file of settings; "" where it has no usual place.
func (c Client) File(m Machine) string { return c.place.on(m) }

// FileIn is the file in another folder than the usual one.
func (c Client) FileIn(folder string) string {
	if c.place.file == "" {
		return ""
	}
	return filepath.Join(folder, c.place.file)
}

// SkillFile is where a client looks for the skill; "" where it looks nowhere.
func (c Client) SkillFile(m Machine) string {
	folder := c.skills.on(m)
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "agentlink", "SKILL.md")
}

// KeyFile is where the key of an agent is kept for the clients of a user. Its
// port is written with _, which every system allows in a name.
func KeyFile(m Machine, address string) string {
	return filepath.Join(m.Config, "agentlink", keyName(address))
}

func keyName(address string) string { return strings.ReplaceAll(address, ":", "_") + ".key" }

// ExampleKeyFile is a key's place on somebody's Linux machine.
func ExampleKeyFile(address string) string { return "/home/you/.config/agentlink/" + keyName(address) }
