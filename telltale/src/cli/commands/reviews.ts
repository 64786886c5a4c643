import { type Command, Option } from 'commander';
import { REVIEW_KINDS } from '../../events/review-kind.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import type { ExitCode } from '../exit-code.ts';
import type { AnswerOptions, Word } from '../review/answer-review.ts';
import type { ListOptions } from '../review/list-reviews.ts';
import type { ShowOptions } from '../review/show-review.ts';
import { addStoreOption } from '../session/store-option.ts';
import { noSubcommand, type WithOptions } from '../subcommand.ts';

const EXAMPLES = `
REVIEW is an id, the beginning or the end of one, or "last": the newest that is open
(to answer, only where no other is).

Kinds: permission (an action, or the call of a step), approval (a step that asks),
confirm (before a step begins), plan (before it is executed), escalation (agent and
verifier do not agree, or the agent is stuck).

Examples:
  $ telltale reviews
  $ telltale reviews --kind escalation --assignee ann
  $ telltale reviews show last
  $ telltale reviews approve 7xk2p --note "only this once"
  $ telltale reviews approve 7xk2p --always     for the rest of the session, where it is offered
  $ telltale reviews reject last --by ann
  $ telltale reviews answer 7xk2p "Keep the old flag working, then complete the step."
  $ telltale reviews answer 7xk2p --choice ship
`;

export const registerReviews: RegisterCommand = (program, context) => {
  const reviews = addStoreOption(program.command('reviews'))
    .summary('list what waits for a person; approve, reject or answer it')
    .description('Lists what waits for a person, over all sessions and workflow runs, oldest first.')
    .addOption(new Option('--kind <kind>', 'only those of one kind').choices(REVIEW_KINDS))
    .option('--assignee <name>', 'only those that somebody in particular is asked')
    .option('--session <id>', 'only those of a session, and of what it called or set off')
    .addOption(new Option('--run <id>', 'the same of a workflow run').conflicts('session'))
    .option('--json', 'print them as JSON')
    .allowExcessArguments()
    .addHelpText('after', EXAMPLES)
    .action(
      context.run(async (options: ListOptions, command: Command) => {
        const [asked] = command.args;
        if (asked !== undefined) throw noSubcommand(asked, command);
        return (await import('../review/list-reviews.ts')).listReviews(options, context);
      }),
    );
  addStoreOption(reviews.command('show'))
    .description('Shows all of a review: what would be done and why, how to answer, or who answered what.')
    .argument('<review>', 'which one')
    .option('--json', 'print it as JSON')
    .action(
      context.run(async (review: string, _own: ShowOptions, command: WithOptions) =>
        (await import('../review/show-review.ts')).showReview(
          review,
          command.optsWithGlobals<AnswerOptions>(),
          context,
        ),
      ),
    );
  const decision = (name: string, summary: string) =>
    addStoreOption(reviews.command(name))
      .description(summary)
      .argument('<review>', 'which one')
      .option('--note <text>', 'why, for the log and for the agent')
      .option('--by <name>', 'for whom you decide; your user name is recorded with it')
      .option('--choice <option>', 'which of the answers that it gives to choose from')
      .option('--json', 'print {"review", "kind", "session", "answer", "choice", "by", "outcome", "pid"}');
  decision('approve', 'Lets it go ahead: the action, the call, the step, the plan, the disputed work.')
    .option('--always', 'for the rest of the session, where the review offers that')
    .action(
      context.run((review: string, _own: AnswerOptions, command: WithOptions) =>
        say(review, { approved: true }, command, context),
      ),
    );
  decision(
    'reject',
    'Refuses it: the agent is told, with the note; a step that only asks has its answer.',
  ).action(
    context.run((review: string, _own: AnswerOptions, command: WithOptions) =>
      say(review, { approved: false }, command, context),
    ),
  );
  decision(
    'answer',
    'Answers by words: one of the choices; of an escalation, what the agent is to do; else a note beside --choice.',
  )
    .argument('[text]', 'what to say')
    .action(
      context.run((review: string, text: string | undefined, _own: AnswerOptions, command: WithOptions) =>
        say(review, { text }, command, context),
      ),
    );
};

async function say(
  review: string,
  word: Word,
  command: WithOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { answer } = await import('../review/answer-review.ts');
  return answer(review, word, command.optsWithGlobals<AnswerOptions>(), context);
}
