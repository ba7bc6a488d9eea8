package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// groupAids shows the named flags under a heading of their own in --help: they
// are for testing against servers of one's own.
func groupAids(c *cobra.Command, names ...string) {
	aids := pflag.NewFlagSet("aids", pflag.ContinueOnError)
	for _, n := range names {
		f := *c.Flags().Lookup(n)
		aids.AddFlag(&f)
		c.Flags().Lookup(n).Hidden = true
	}
	usageOf := c.UsageFunc()
	c.SetUsageFunc(func(c *cobra.Command) error {
		if err := usageOf(c); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.OutOrStderr(), "\nAids for testing against servers of your own:\n%s", aids.FlagUsages())
		return err
	})
}

// oneOf has the shell complete the values that a flag may take. The flag must
// be there.
func oneOf(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the program itself is wrong
	}
}

// joinOptional writes a flag whose value may be left out and its value as one
// argument: "--simulate 500" becomes "--simulate=500".
func joinOptional(args []string, flag string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == flag && i+1 < len(args) && isNumber(args[i+1]) {
			out = append(out, flag+"="+args[i+1])
			i++
			continue
		}
		out = append(out, args[i])
	}
	return out
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
