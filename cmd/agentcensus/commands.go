package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// addCommands adds all commands, under the headings of the help.
func addCommands(root *cobra.Command, s streams) {
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"The crawl:", []*cobra.Command{
			newCrawlCommand(s), newRecheckCommand(s), newStatusCommand(s), newForgetCommand(s), newConfigCommand(s), newSchemaCommand(s),
		}},
		{"Who asks:", []*cobra.Command{
			newKeysCommand(s), newServeCommand(s), newSignCommand(s), newVerifyCommand(s),
		}},
		{"What the crawler makes of a file:", []*cobra.Command{
			newRobotsCommand(s), newInspectCommand(s),
		}},
		{"A web to try it on:", []*cobra.Command{
			newSimwebCommand(s),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(newVersionCommand(s))
}

// noArguments is for a command that takes none.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%q: %s takes flags alone", args[0], c.CommandPath())
	}
	return nil
}
