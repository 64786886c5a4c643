import type { OpenReview } from '../../session/reviews/review-table.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { type AnswerOptions, answer, show } from '../session/answer-review.ts';
import { storeExists, storeLocation } from '../session/store-location.ts';
import { addStoreOption } from '../session/store-option.ts';
import { withSessions } from '../session/with-runtime.ts';
import { brief } from '../view/brief.ts';
import { agoText, timeText } from '../view/figures.ts';
import { jsonText } from '../view/json-line.ts';
import { type Column, tableLines } from '../view/table.ts';

interface Options {
  readonly store?: string;
  readonly json?: true;
}

const EXAMPLES = `
REVIEW is an id, the beginning or the end of one, or "last".

Examples:
  $ telltale reviews
  $ telltale reviews show last
  $ telltale reviews approve 7xk2p --note "only this once"
  $ telltale reviews reject last --by ann
`;

export const registerReviews: RegisterCommand = (program, context) => {
  const reviews = addStoreOption(program.command('reviews'))
    .summary('what waits for a person: list, approve, reject')
    .description('Lists what waits for a person, over all sessions and workflow runs, oldest first.')
    .option('--json', 'print them as JSON')
    .addHelpText('after', EXAMPLES)
    .action(context.run((options: Options) => list(options, context)));
  const decision = (name: 'approve' | 'reject', summary: string) =>
    addStoreOption(reviews.command(name))
      .description(summary)
      .argument('<review>', 'which one')
      .option('--note <text>', 'why, for the log and for the agent')
      .option('--by <name>', 'who decides (default: USER)')
      .option('--choice <option>', "which of the answers that a workflow's step gives")
      .option('--json', 'print {"review", "session", "answer", "outcome", "pid"}')
      .action(
        context.run((review: string, _own: AnswerOptions, command: WithOptions) =>
          answer(review, name, command.optsWithGlobals(), context),
        ),
      );
  decision('approve', 'Lets the action start, or answers the question of a workflow.');
  decision('reject', 'Refuses the action: the agent is told. To the question of a workflow it says no.');
  addStoreOption(reviews.command('show'))
    .description('Shows all of what would be done.')
    .argument('<review>', 'which one')
    .option('--json', 'print it as JSON')
    .action(
      context.run((review: string, _own: Options, command: WithOptions) =>
        show(review, command.optsWithGlobals(), context),
      ),
    );
};

/** Options that stand before the subcommand are the parent's to commander, and the user's all the same. */
interface WithOptions {
  optsWithGlobals(): AnswerOptions;
}

async function list(options: Options, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const location = storeLocation(options.store, io);
  const found = storeExists(location, io)
    ? await withSessions(context, options.store === undefined ? {} : { store: options.store }, (sessions) =>
        sessions.reviews(),
      )
    : [];
  await (options.json === true
    ? io.stdout.write(jsonText(found.map(reviewJson), 2))
    : print(found, location, io));
  return EXIT.ok;
}

const reviewJson = ({ at, ...review }: OpenReview) => ({ ...review, asked: timeText(at) });

const COLUMNS: readonly Column[] = [
  { title: 'REVIEW' },
  { title: 'AGENT' },
  { title: 'ASKED' },
  { title: 'ACTION' },
  { title: 'SESSION' },
  { title: 'WHAT', gives: true },
];

const MAX_CELL = 200;

async function print(found: readonly OpenReview[], location: string, io: Io): Promise<void> {
  const { stdout, clock } = io;
  if (found.length === 0) {
    await stdout.write(`Nothing waits for a person in ${location}.\n`);
    return;
  }
  const paint = paletteFor(stdout);
  const rows = found.map((each) => [
    brief(each.review, MAX_CELL),
    brief(each.agent, MAX_CELL),
    agoText(clock.now() - each.at),
    brief(each.action, MAX_CELL),
    brief(each.session, MAX_CELL),
    brief(`${each.target}: ${each.what}`, MAX_CELL),
  ]);
  const lines = tableLines(COLUMNS, rows, {
    columns: stdout.columns,
    paint: (text, row) => (row === -1 ? paint.dim(text) : text),
  });
  const how = paint.dim('Answer with: telltale reviews approve REVIEW, or reject REVIEW');
  await stdout.write(`${[...lines, how].join('\n')}\n`);
}
