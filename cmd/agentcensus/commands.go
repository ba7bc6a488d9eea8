package main

import "github.com/spf13/cobra"

// commands are all commands, in the order of the help.
func commands(s streams) []*cobra.Command {
	return []*cobra.Command{
		// The crawl and what goes with it.
		newCrawlCommand(s),
		newRecheckCommand(s),
		newStatusCommand(s),
		newForgetCommand(s),
		newSimwebCommand(s),

		// The bot's identity, for site owners.
		newKeysCommand(s),
		newSignCommand(s),
		newVerifyCommand(s),
		newServeCommand(s),

		// Asking the crawler's own judgement.
		newRobotsCommand(s),
		newInspectCommand(s),

		newConfigCommand(s),
		newSchemaCommand(s),
		newVersionCommand(s),
	}
}
