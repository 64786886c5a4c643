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

/**
 * A question of a run to a person: an `approval` step, a confirmation, a plan, an escalation, or a call that
 * needs approval.
 */
export interface RunQuestion extends OpenReview, Covered {
  /** The parameters of the call, if it is about one. */
  readonly input?: JsonObject;
  /** What has changed since an earlier approval, which no longer counts. */
  readonly changed?: readonly string[];
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal;
}

/**
 * Asks a person in this process. Resolves with the answer, or with undefined if the person leaves it for
 * later.
 */
export type AskRun = (question: RunQuestion) => Promise<ReviewReply | undefined>;

/** The questions of one run that this process asks a person. */
export interface RunQuestions {
  put(request: ApprovalRequest, signal: AbortSignal): void;
  /** Returns whether the run stays open because an answer may arrive. `release` is called if none does. */
  hold(release: () => void): boolean;
}

export function createRunQuestions(
  ask: AskRun,
  journal: RunJournal,
  clock: Pick<Clock, 'now'>,
  onError: (thrown: unknown) => void,
): RunQuestions {
  const { state } = journal;
  let asked = 0;
  let leave: (() => void) | undefined;

  /** Resolves with true if an answer was given. */
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
    return receiveRunAnswer(journal, reply.by ?? 'api', { review: request.review, ...said }, []);
  };

  return {
    put(request, signal) {
      asked++;
      // The question was answered by this or another process, so the run continues.
      const goesOn = () => {
        leave = undefined;
      };
      signal.addEventListener('abort', goesOn, { once: true });
      const over = async () => {
        const isAnswered = await answer(request, signal).catch((thrown) => void onError(thrown));
        // The run stays open until the step has read the answer from the log.
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

/** Writes an answer to the log of a run that nobody works on. The run uses it when it is resumed. */
export async function writeRunAnswer(
  { store, clock }: { readonly store: Pick<Store, 'info'>; readonly clock: Clock },
  writer: StreamWriter,
  state: RunState,
  given: { readonly said: AnswerMessage; readonly by: string; readonly consumed: readonly number[] },
): Promise<void> {
  const journal = createRunLog({ ...(await unownedLogOptions(store, writer)), state, clock, onLost }); // flushed() rejects
  receiveRunAnswer(journal, given.by, { ...given.said }, given.consumed);
  await journal.flushed();
}

const onLost = (): void => undefined;

/** Options for writing to the log of a run that nobody works on. Writing does not lift a quarantine. */
export async function unownedLogOptions(store: Pick<Store, 'info'>, writer: StreamWriter) {
  const info = await store.info(writer.stream);
  return {
    writer,
    forOthers: true,
    ...(info?.status === QUARANTINED ? { keepsStatus: QUARANTINED } : {}),
  } as const;
}

/** Returns false if the body is not an answer, the question is not open, or the run is being cancelled. */
export function receiveRunAnswer(
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
