package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"agentcensus/sources"
)

// newConfigCommand is `agentcensus config`.
func newConfigCommand(s streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Write or check the configuration file",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(newConfigInit(s), newConfigCheck(s))
	return c
}

func newConfigInit(s streams) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "init",
		Short:   "Write a commented configuration file",
		Example: "  agentcensus config init\n  agentcensus config init --out /etc/agentcensus.yaml",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return usagef("%s is there already and is not overwritten; name another file with --out", out)
			}
			if err != nil {
				return usagef("write the configuration: %w", err)
			}
			_, err = f.Write(configTemplate)
			if err := errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("write the configuration: %w", err)
			}
			fmt.Fprintf(s.out, "wrote %s; fill in bot.name, bot.info_url, bot.operator, bot.contact and signing.keys\n", out)
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", defaultConfig, "the `file` to write; one that is there is not overwritten")
	return c
}

func newConfigCheck(s streams) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "check",
		Short: "Read the configuration and say whether a crawl could start",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			c, err := loadConfig(path)
			if err != nil {
				return err
			}
			if err := c.requireIdentity(); err != nil {
				return err
			}
			id, err := identify(c)
			if err != nil {
				return err
			}
			if _, err := loadOptOut(c.OptOut, newLog(s.err, false, false)); err != nil {
				return err
			}
			if c.Suppressed != "" {
				if _, err := sources.LoadSuppressed(c.Suppressed); err != nil {
					return usagef("suppressed: %w", err)
				}
			}
			fmt.Fprintf(s.out, "%s: ready; requests go out as %q, signed by %s\n", c.path, id.userAgent, id.keyID)
			if c.Bot.Operator == "" {
				fmt.Fprintln(s.out, "bot.operator is empty: a crawl does without, 'agentcensus serve' does not")
			}
			return nil
		},
	}
	addConfigFlag(c, &path)
	return c
}

func addConfigFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "config", "", "the configuration `file` (default: "+defaultConfig+" if it is there)")
}
