package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"strata/ingest"
)

const (
	uploadLimit = 30 * time.Minute
	askEvery    = 300 * time.Millisecond
	// restartLimit is how long a server may be away while a job of it is waited
	// for: an accepted job goes on after a restart.
	restartLimit = time.Minute
)

// shownJob is a large document on its way.
type shownJob struct {
	Job    string        `json:"job"`
	ID     string        `json:"id"`
	Status string        `json:"status"`
	Stage  string        `json:"stage"`
	Done   int           `json:"passages_done"`
	Total  int           `json:"passages_total"`
	Result ingest.Result `json:"result"`
	Error  struct {
		Message string `json:"message"`
	} `json:"error"`
}

// await waits for the job of a large file.
func (u *upload) await(ctx context.Context, accepted *http.Response) (ingest.Result, error) {
	var job shownJob
	if err := json.NewDecoder(accepted.Body).Decode(&job); err != nil || job.Job == "" {
		return job.Result, fmt.Errorf("%s broke off its answer; run it again", u.c.server)
	}
	away := time.Time{}
	for job.Status == "pending" {
		select {
		case <-ctx.Done():
			return job.Result, &refusedError{0, "not published yet; job " + job.Job + " goes on, and `strata docs jobs` shows how far it is"}
		case <-time.After(askEvery):
		}
		_, err := u.c.get("/v1/jobs/"+segment(job.Job), nil, &job)
		_, answered := errors.AsType[*refusedError](err)
		switch {
		case err == nil:
			away = time.Time{}
			u.tell(&job)
		case answered || !away.IsZero() && time.Since(away) > restartLimit:
			return job.Result, err
		case away.IsZero():
			away = time.Now()
		}
	}
	if job.Status != "done" {
		return job.Result, &refusedError{0, plain(job.Error.Message)}
	}
	return job.Result, nil
}

// tell shows whoever watches how far a job is.
func (u *upload) tell(job *shownJob) {
	if u.report != nil && job.Status == "pending" {
		u.report(fmt.Sprintf("%s: %s", shorten(plain(job.ID), 40), job.where()))
	}
}

func (j *shownJob) where() string {
	if j.Total == 0 {
		return j.Stage
	}
	return fmt.Sprintf("%s, %d of %d passages", j.Stage, j.Done, j.Total)
}

// lost tells behind sep what of a document nobody will find, "" for nothing.
func lost(sep string, r ingest.Result) string {
	switch r.Textless {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s1 of %d pages has no text (scanned?)", sep, r.Pages)
	}
	return fmt.Sprintf("%s%d of %d pages have no text (scanned?)", sep, r.Textless, r.Pages)
}

func (p *program) docsJobsCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use: "jobs", Short: "Show large documents on their way, and what became of the latest", Args: noArguments,
		Example: "  strata docs jobs",
		RunE: func(*cobra.Command, []string) error {
			c, err := p.client(t)
			if err != nil {
				return err
			}
			return listing(p, c, "/v1/jobs", "jobs", nil, paging{}, []string{"JOB", "DOCUMENT", "STATUS", "STAGE", "DONE", "OF", "NOTE"}, func(j shownJob) []string {
				return []string{j.Job, j.ID, j.Status, j.Stage, strconv.Itoa(j.Done), strconv.Itoa(j.Total), j.Error.Message + lost("", j.Result)}
			})
		},
	}
	t.addTo(cmd)
	t.addJSONTo(cmd)
	return cmd
}
