import type { Dialect } from '../../parser/dialect-parser.ts';

/** What the runtime tells the model of its turn, in the words of its dialect. */
export interface DialectWords {
  /** A turn of nothing but text. */
  readonly bare: string;
  /** The same while a step is in hand. */
  readonly bareLed: string;
  readonly afterFinal: string;
  /** What did not count, and where to say it again. */
  readonly undone: string;
  readonly again: string;
  /** A final response while a step is in hand. */
  readonly stepOpen: string;
  /** Where a result of the output schema belongs. */
  readonly output: string;
}

export const DIALECT_WORDS: Readonly<Record<Dialect, DialectWords>> = {
  tags: {
    bareLed:
      'Text does nothing for the step in hand. Call complete_step, as <action type="internal">{"name": "complete_step", "parameters": {"notes": "…"}}</action>, or call what the step needs.',
    bare: 'Your turn held no tag, so it was not taken as your answer. If it is your answer, write it as <response final="true">…</response>; what you want done belongs in <action>…</action>.',
    afterFinal:
      'Tags followed the closed final response and were not read: a final response ends the turn. Put actions and metadata before it, or write <response final="false">.',
    undone: 'Your final response was not taken as final',
    again: 'in a new final response',
    stepOpen:
      'A final response does not end your work here: the step in hand is still open. End it with <action type="internal">{"name": "complete_step", "parameters": {"notes": "…"}}</action>.',
    output: 'Write the JSON alone into <response>.',
  },
  tools: {
    bareLed: 'Text does nothing for the step in hand. Call complete_step, or call what the step needs.',
    bare: 'Your turn held no call, and was not taken as your answer. Call "respond" with what you want to tell, and the other tools for what you want done.',
    afterFinal:
      'Calls followed a final "respond" and were not made: it ends the turn. Make them before it, or call "respond" with "final": false.',
    undone: 'Your final response was not taken as final',
    again: 'in a new final response',
    stepOpen:
      'A final response does not end your work here: the step in hand is still open. End it with a call of "complete_step".',
    output: 'Give the value as "output" in a call of "respond".',
  },
  step: {
    bareLed:
      'Text does nothing for the step in hand. Call "step": with "is_complete": true and "notes" to complete it, or with what the step needs in "tool_calls".',
    bare: 'Your turn held no call of "step", so nobody got it. Call "step": what you want to tell is its "response", what you want done its "tool_calls". "is_complete": true ends the work.',
    afterFinal:
      'Something followed the step with "is_complete": true and was not read: it ends the work. Do everything else before it.',
    undone: '"is_complete" did not count',
    again: 'in a new step with "is_complete"',
    stepOpen:
      'A response does not end your work here: the step in hand is still open. End it with "is_complete": true and "notes".',
    output: 'Give the value as "output" of the step with "is_complete": true.',
  },
};
