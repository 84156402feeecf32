package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	neturl "net/url"
	"time"

	"github.com/spf13/cobra"
)

func (p *program) healthcheckCommand() *cobra.Command {
	url := ""
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a running Strata whether it is ready; exit code 0 when it is, for containers without a shell",
		Example: `  strata healthcheck
  strata healthcheck --url http://127.0.0.1:4472/readyz`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if url == "" {
				l, err := p.load()
				if err != nil {
					return err
				}
				if url, err = healthURL(&l.Config); err != nil {
					return err
				}
			}
			if u, err := neturl.Parse(url); err != nil || u.Host == "" {
				return usageError{fmt.Errorf("--url: %q is not a URL; write it like http://127.0.0.1:4472/readyz", url)}
			}
			return p.healthcheck(url)
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "address to ask (default: from health.listen or admin.listen)")
	return cmd
}

func healthURL(c *Config) (string, error) {
	addr := c.Health.Listen
	if addr == "off" {
		addr = c.Admin.Listen
	}
	if addr == "off" {
		return "", usageError{errors.New("health.listen and admin.listen are both off; turn one on, or give --url")}
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", usageError{err}
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port) + "/readyz", nil
}

func (p *program) healthcheck(url string) error {
	client := http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{}} // never through a proxy
	resp, err := client.Get(url)
	if err != nil {
		return fmt.Errorf("not ready: %s does not answer", url)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s answers %s", url, resp.Status)
	}
	_, err = fmt.Fprintln(p.stdout, "ready")
	return err
}
