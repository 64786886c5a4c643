import { TRIGGER_QUESTION } from '../../events/fold-runs.ts';
import type { InvokeRecord } from '../../kernel/invoke-record.ts';
import type { DecisionContext } from '../../targets/artifacts/artifacts.ts';
import type { Invoke } from '../../targets/artifacts/invoker.ts';
import type { SessionTrigger, TestQuestion } from '../../triggers/compile-triggers.ts';

/** Questions of one session that have no answer yet. An artifact takes 100 ms at most. */
export const MAX_QUESTIONS = 256;

/** Asks artifacts for the tests of triggers. Answers come in the order of the questions. */
export interface Questions {
  /** False where too many are open. */
  ask(trigger: SessionTrigger, then: (record: InvokeRecord) => void): boolean;
  close(): void;
}

export interface QuestionDeps {
  readonly invoke: Invoke | undefined;
  readonly context: () => DecisionContext;
}

interface Open {
  readonly then: (record: InvokeRecord) => void;
  record: InvokeRecord | undefined;
}

export function createQuestions({ invoke, context }: QuestionDeps): Questions {
  const open: Open[] = [];
  const closing = new AbortController();
  const settle = () => {
    for (let first = open[0]; first?.record !== undefined && !closing.signal.aborted; first = open[0]) {
      open.shift();
      first.then(first.record);
    }
  };
  return {
    ask({ id, question }, then) {
      if (question === undefined || open.length >= MAX_QUESTIONS) return false;
      const asked: Open = { then, record: undefined };
      open.push(asked);
      const where = `${TRIGGER_QUESTION}${id}`;
      const answer = (record: InvokeRecord) => {
        asked.record = record;
        settle();
      };
      const given =
        invoke === undefined
          ? Promise.resolve(unanswered(where, question, 'No artifacts can be asked here.'))
          : invoke({
              where,
              invocation: question,
              wanted: { type: 'boolean' },
              context: context(),
              signal: closing.signal,
            });
      given.then(answer, (thrown: unknown) => {
        if (!closing.signal.aborted) answer(unanswered(where, question, String(thrown)));
      });
      return true;
    },
    close: () => closing.abort(new Error('The session was let go of.')),
  };
}

const unanswered = (where: string, question: TestQuestion, message: string): InvokeRecord => ({
  where,
  artifact: question.invoke,
  method: question.method,
  args: question.args,
  result: question.fallback,
  fallback: { reason: 'unavailable', message },
  cached: false,
  ms: 0,
  cost: 0,
});
