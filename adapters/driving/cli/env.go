package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// envName is the environment twin of a flag: --http-allow-private is ROWLOCK_HTTP_ALLOW_PRIVATE.
func envName(flag string) string {
	return "ROWLOCK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readEnv sets every flag of the command that was not given and whose twin is set.
func (s *shell) readEnv(cmd *cobra.Command) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || err != nil {
			return
		}
		if value, ok := s.Getenv(envName(f.Name)); ok && value != "" {
			if cmd.Flags().Set(f.Name, value) != nil { // its text holds the value, which may be a secret
				err = invalid("read environment", envName(f.Name), "the value does not fit --"+f.Name+" ("+f.Value.Type()+")")
			}
		}
	})
	return err
}
