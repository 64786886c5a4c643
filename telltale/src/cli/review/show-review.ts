import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { storeFlag } from '../session/store-location.ts';
import type { StoreOption } from '../session/store-option.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { jsonText } from '../view/json-line.ts';
import { findReview } from './find-review.ts';
import { reviewJson } from './review-json.ts';
import { reviewLines } from './review-lines.ts';

export interface ShowOptions extends StoreOption {
  readonly json?: true;
}

/** `telltale reviews show`: everything that would be done, or was decided, spelt out. */
export async function showReview(
  asked: string,
  options: ShowOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { stdout, clock, program } = context.io;
  return withStoredSessions(context, options, async (sessions) => {
    const review = await sessions.review(await findReview(sessions, asked));
    const lines = () => reviewLines(review, { now: clock.now(), flag: storeFlag(options.store), program });
    await stdout.write(options.json === true ? jsonText(reviewJson(review), 2) : `${lines().join('\n')}\n`);
    return EXIT.ok;
  });
}
