import { type Command, Option } from 'commander';
import { REVIEW_KINDS } from '../../log/reviews.ts';
import type { CommandContext, ExitCode, RegisterCommand } from '../command.ts';
import { noSubcommand, type WithOptions } from '../options.ts';
import type { AnswerOptions, Word } from '../review/answer-review.ts';
import type { ListOptions, ShowReviewsOptions } from '../review/list-reviews.ts';
import { addStoreOption } from '../session/store-options.ts';

const EXAMPLES = `
REVIEW is an id, its first or last characters, or "last": the newest open review
(for answers, only if it is the only one).

Kinds: permission (for an action or a step's call), approval (a step that asks),
confirm (before a step starts), plan (before it runs), escalation (agent and verifier
disagree, or the agent is stuck).

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
    .description(
      "Lists everything that waits for a person's answer, in all sessions and workflow runs, oldest first.",
    )
    .addOption(new Option('--kind <kind>', 'only those of one kind').choices(REVIEW_KINDS))
    .option('--assignee <name>', 'only reviews assigned to this person')
    .option('--session <id>', 'only those of a session and of what it called or triggered')
    .addOption(new Option('--run <id>', 'the same for a workflow run').conflicts('session'))
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
    .description(
      'Shows a review in full: what would be done and why, and how to answer or what was answered.',
    )
    .argument('<review>', 'which one')
    .option('--json', 'print it as JSON')
    .action(
      context.run(async (review: string, _own: ShowReviewsOptions, command: WithOptions) =>
        (await import('../review/list-reviews.ts')).showReview(
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
      .option('--choice <option>', 'the answer, if the review offers several')
      .option('--json', 'print {"review", "kind", "session", "answer", "choice", "by", "outcome", "pid"}');
  decision('approve', 'Approves it: the action, call, step, plan or disputed work goes ahead.')
    .option('--always', 'for the rest of the session, where the review offers that')
    .action(
      context.run((review: string, _own: AnswerOptions, command: WithOptions) =>
        say(review, { approved: true }, command, context),
      ),
    );
  decision('reject', 'Rejects it. The agent is told, with your note.').action(
    context.run((review: string, _own: AnswerOptions, command: WithOptions) =>
      say(review, { approved: false }, command, context),
    ),
  );
  decision(
    'answer',
    'Answers with one of the choices or in words. For an escalation, the text tells the agent what to do.',
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
