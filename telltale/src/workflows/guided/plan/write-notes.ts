import { type RuntimeError, toRuntimeError } from '../../../kernel/runtime-error.ts';
import { isMap } from '../../../manifest/schema/is-map.ts';
import { noAgent, targetCall } from '../../steps/call-target.ts';
import { stepWhat } from '../../steps/resolve-in-step.ts';
import { checkNotes } from '../check-notes.ts';
import { closingText, plainNotes } from './closing-text.ts';
import type { DoneAction } from './done-action.ts';
import { jsonIn } from './json-in.ts';
import { nextTurn, type PlanCase } from './plan-case.ts';

/** How often the model may write them. */
const MAX_TRIES = 2;

/**
 * The closing call: the model writes the notes. Where they do not count it is asked once more, with the reason; then,
 * and where it cannot be asked, the runtime writes down what was done and says so on the log. What was done stays done,
 * so the step does not fail, or begin anew, for want of a text.
 */
export async function writeNotes(done: readonly DoneAction[], the: PlanCase): Promise<string> {
  const { prompt, step, call, context } = the;
  let refused: RuntimeError | undefined;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const told = refused === undefined ? undefined : `${refused.message} ${refused.hint ?? ''}`;
    try {
      const message = closingText(prompt, done, told);
      const question = { what: stepWhat(call), message, model: step.model, turn: nextTurn(the) + tries };
      const said = notesIn(await context.ask(question, targetCall(call, noAgent, context)));
      refused = checkNotes(said, prompt);
      if (refused === undefined) return said;
    } catch (thrown) {
      call.signal.throwIfAborted();
      refused = toRuntimeError(thrown);
      break;
    }
  }
  const what = `The notes of the step "${call.address}" are the runtime's own. ${refused?.message ?? ''}`;
  context.journal.append({ type: 'audit', who: 'runtime', what }, call.cause);
  return plainNotes(done);
}

/** The text itself, or `notes` (`notesMarkdown`) where the model put it into an object. */
function notesIn(answer: string): string {
  if (!/^[`{]/.test(answer)) return answer.trim();
  for (const value of jsonIn(answer))
    for (const key of ['notes', 'notesMarkdown'])
      if (isMap(value) && Object.hasOwn(value, key) && typeof value[key] === 'string')
        return value[key].trim();
  return answer.trim();
}
