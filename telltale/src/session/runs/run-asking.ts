import type { RunJournal } from '../../engine/run-journal.ts';
import type { OpenReview } from '../../events/open-review.ts';
import type { ApprovalRequest } from '../../events/run-event.ts';
import { type Covered, coveredOf } from '../../kernel/approved-files.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { type ReviewReply, readReply } from '../reviews/read-reply.ts';
import { runReview } from '../reviews/review-table.ts';
import { takeRunAnswer } from './answer-run.ts';

/** What a run asks a person: the question of an `approval` step, a confirmation, a plan, an escalation, or a call. */
export interface RunQuestion extends OpenReview, Covered {
  /** The parameters of a call. */
  readonly input?: JsonObject;
  /** What has changed since it was approved before, where it was: that approval counts no longer. */
  readonly changed?: readonly string[];
  /** Aborted once the answer no longer matters. */
  readonly signal: AbortSignal;
}

/** Asks a person in this process. Resolves with their answer, or with undefined where they leave it for later. */
export type AskRun = (question: RunQuestion) => Promise<ReviewReply | undefined>;

/** The questions of one run that are put to a person in this process. */
export interface RunAsking {
  put(request: ApprovalRequest, signal: AbortSignal): void;
  /**
   * Whether the run stays for an answer that is on its way; `release` is called where it turns out that none comes.
   */
  hold(release: () => void): boolean;
}

export function createRunAsking(
  ask: AskRun,
  journal: RunJournal,
  clock: Pick<Clock, 'now'>,
  onError: (thrown: unknown) => void,
): RunAsking {
  const { state } = journal;
  let asked = 0;
  let leave: (() => void) | undefined;

  /** Whether an answer was given. */
  const answer = async (request: ApprovalRequest, signal: AbortSignal): Promise<boolean> => {
    const { call, replaces } = request;
    const open = runReview(request, state, clock.now());
    const reply = await ask({
      ...open,
      what: request.prompt,
      ...(call === undefined ? {} : { input: call.input, ...coveredOf(call) }),
      ...(replaces === undefined ? {} : { changed: replaces.changed }),
      signal,
    });
    if (reply === undefined || signal.aborted) return false;
    const said = readReply(open, reply);
    return takeRunAnswer(journal, reply.by ?? 'api', { review: request.review, ...said }, []);
  };

  return {
    put(request, signal) {
      asked++;
      // Answered, here or elsewhere: the run goes on.
      const goesOn = () => {
        leave = undefined;
      };
      signal.addEventListener('abort', goesOn, { once: true });
      const over = async () => {
        const isAnswered = await answer(request, signal).catch((thrown) => void onError(thrown));
        // The run stays until the step has taken the answer from the log.
        if (isAnswered === true && !signal.aborted)
          await new Promise((taken) => signal.addEventListener('abort', taken, { once: true }));
        asked--;
        if (asked > 0) return;
        const release = leave;
        leave = undefined;
        release?.();
      };
      over().catch(onError);
    },
    hold(release) {
      if (asked === 0) return false;
      leave = release;
      return true;
    },
  };
}
