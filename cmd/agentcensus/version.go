package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"agentcensus/cmd/internal/built"
)

func newVersionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.out, built.Line("agentcensus"))
			return err
		},
	}
}
