import type { RunJournal } from '../../engine/run-log.ts';
import { createRunLog } from '../../engine/run-log.ts';
import { type Covered, coveredOf } from '../../lib/approved-files.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { OpenReview } from '../../log/reviews.ts';
import type { ApprovalRequest } from '../../log/run-event.ts';
import type { RunState } from '../../log/run-state.ts';
import { QUARANTINED } from '../../store/quarantine.ts';
import type { Store, StreamWriter } from '../../store/store.ts';
import { choiceFor, type ReviewReply, readReply } from '../reviews/read-review.ts';
import { closeRow, runReview } from '../reviews/review-table.ts';
import { type AnswerMessage, readAnswerMessage } from '../reviews/take-answer.ts';

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

/** Puts an answer on the log of a run that nobody works on: it goes on with it when it is taken up. */
export async function writeRunAnswer(
  { store, clock }: { readonly store: Pick<Store, 'info'>; readonly clock: Clock },
  writer: StreamWriter,
  state: RunState,
  given: { readonly said: AnswerMessage; readonly by: string; readonly consumed: readonly number[] },
): Promise<void> {
  const journal = createRunLog({ ...(await logOfNobody(store, writer)), state, clock, onLost }); // flushed() says so
  takeRunAnswer(journal, given.by, { ...given.said }, given.consumed);
  await journal.flushed();
}

const onLost = (): void => undefined;

/** How the log of a run is written that nobody works on. What is written releases no run that is quarantined. */
export async function logOfNobody(store: Pick<Store, 'info'>, writer: StreamWriter) {
  const info = await store.info(writer.stream);
  return {
    writer,
    forOthers: true,
    ...(info?.status === QUARANTINED ? { keepsStatus: QUARANTINED } : {}),
  } as const;
}

/** False where it is no answer, or one to a question that is not open, or the run is being cancelled. */
export function takeRunAnswer(
  journal: RunJournal,
  by: string,
  body: Json,
  consumed: readonly number[],
): boolean {
  const said = readAnswerMessage(body);
  const { id, reviews, cancelling } = journal.state;
  const open = reviews.find((each) => each.review === said?.review && each.choice === undefined);
  if (said === undefined || open === undefined || cancelling !== undefined) return false;
  const { answer, choice, note, key } = said;
  const isOption = choice !== undefined && open.options.includes(choice);
  journal.append(
    {
      type: 'review.resolved',
      review: open.review,
      answer,
      by,
      choice: isOption ? choice : choiceFor(answer, open.options),
      ...(note === undefined ? {} : { note }),
      ...(key === undefined ? {} : { key }),
    },
    { stream: id, seq: 0, depth: 0 },
    { consumed, writes: closeRow(open.review, id) },
  );
  return true;
}
