package session

import (
	"context"
	"fmt"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/secretvars"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Operation is what a run does on the machines after its input was checked. It returns the recap: one line
// with the result. An error has its failure reason (task.FailureOf).
type Operation func(ctx context.Context, in Input, key ssh.Key, ports Ports, progress *playbook.Progress) (recap string, err error)

// Run checks the input, and runs the operation with its progress. No output of it has a value of
// in.Secrets. It can be repeated if the operation can be repeated.
func Run(ctx context.Context, in Input, ports Ports, work Operation) (Output, error) {
	hide := ansible.NewLiterals(secretvars.Texts(in.Secrets.Vars))
	if hide == nil {
		return run(ctx, in, ports, work)
	}
	hidden, flush := hiding(hide, ports)
	out, err := run(ctx, in, hidden, work)
	flush()
	return Output{Recap: hide.Redact(out.Recap)}, withoutTexts(hide, err)
}

func run(ctx context.Context, in Input, ports Ports, work Operation) (Output, error) {
	playbooks, err := engineOf(in.PlaybooksDir)
	if err != nil { // a site's own playbooks need no description
		fmt.Fprintf(ports.Log, "The release of the playbooks is not known: %v\n", err)
	}
	if err := playbooks.check(in); err != nil { // before in.check, which misses the playbook
		return Output{}, task.Because(contract.ReasonInvalidRequest, err)
	}
	key, err := in.check()
	if err != nil {
		return Output{}, task.Because(contract.ReasonInvalidRequest, err)
	}
	if !in.Request.OnlyPatches() { // such a run has no playbook, and can have the digests of the record
		if err := in.CheckSecrets(); err != nil {
			return Output{}, err
		}
	}
	ports.Log = playbook.Locked(ports.Log)
	progress := playbook.StartProgress(ctx, ports.Progress, in.Run, "", ports.Log)
	defer progress.End()
	progress.SetEngine(playbooks.String())
	recap, err := work(ctx, in, key, ports, progress)
	if err != nil {
		return Output{}, err
	}
	if why := in.Unaccelerated(); why != "" {
		recap += "; without acceleration" + why
	}
	fmt.Fprintf(ports.Log, "\n%s\n", recap)
	return Output{Recap: recap}, nil
}
