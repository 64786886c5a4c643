import type { ErrorJson } from '../lib/errors.ts';
import { TURN_CUT_SHORT } from './fold-turns.ts';

/**
 * What people read in place of a message that is written for the model. The model's own text stays on the log, and
 * `logs` shows it as what the model was told.
 */

const FAULTS: Readonly<Record<string, string>> = {
  no_body: 'The model wrote an action without its parameters. It counts as text.',
  bad_json: 'The model wrote JSON that cannot be read.',
  bad_action: 'The model wrote an action with a wrong or missing field.',
  bad_attribute: 'The model wrote a tag with a wrong attribute.',
  duplicate_id: 'The model used an id twice.',
  body_too_large: 'The model wrote an action that is too large.',
  tag_too_long: 'The model wrote a tag that is too long.',
  not_in_response: 'The model wrote a tag inside its answer. It counts as text.',
  not_here: 'The model wrote a tag where it does not count. It counts as text.',
  reserved_tag: 'The model wrote a tag that is reserved. It counts as text.',
  stray_close: 'The model closed a tag that was not open.',
  thought_left_open: 'The model did not close a thought.',
  truncated: 'The model did not finish what it was writing.',
  fence_left_open: 'The model did not close a code block.',
  in_doubt: 'Part of this turn may be a quotation, so it was not run.',
  unsealed: "The model wrote a tag without the session's key, so it was not run.",
  final_undone: 'The answer of this turn does not count as final.',
  after_final: 'The model continued after its final answer. That part was ignored.',
  after_step: 'The model continued after it had completed the step. That part was ignored.',
  step_open: 'The model gave a final answer while a step is still open.',
  no_tags: 'The model neither acted nor answered.',
  foreign_call: 'The model wrote a call in the format of another system.',
  bad_output: 'The answer does not fit the output schema of the agent.',
  bad_variable: 'The model set a variable that it may not set.',
  unknown_variable: 'The model named a variable that does not exist.',
  reference_in_code: 'The model named a result inside code, where it is not replaced.',
  unknown_template: 'The model named an action template that does not exist.',
  bad_test: 'The model wrote a condition that cannot be evaluated.',
  bad_list: 'The model wrote a loop whose list cannot be used.',
  deadlock: 'Actions of the model would have waited for each other.',
  variable_store: 'The value of a variable could not be stored.',
  not_run: 'Some of what the model asked for did not run.',
  buffer_full: 'The model wrote too much in one turn and was stopped.',
  turn_too_long: 'The model wrote too much in one turn and was stopped.',
  output_limit: "The answer reached the provider's output limit.",
  repeats: 'The model repeated itself and was stopped.',
  no_progress: 'The model makes the same calls again and again, with the same results.',
};

/** What a fault means: `The model closed a tag that was not open. [stray_close]`. */
export function faultForPeople({ code }: { readonly code: string }): string {
  const text = Object.hasOwn(FAULTS, code) ? FAULTS[code] : 'The model made a mistake and was told so.';
  return `${text} [${code}]`;
}

/** Why a turn ended early. */
export const turnFailureForPeople = ({ code, message }: ErrorJson): string =>
  code === TURN_CUT_SHORT ? 'The turn was interrupted. The next one continues it.' : `${code}: ${message}`;

/** Why an agent does not get on with its task. */
export const stuckForPeople = (why: string): string => why.replace(/^You have called /, 'The agent called ');

/** In place of what the runtime tells the model, such as a reminder of what to do next. */
export const REMINDED = 'The model was reminded how to continue.';
