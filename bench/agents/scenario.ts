/** What the fake model says in one turn: text in pieces, and a call of the one tool at the end if there is one. */
export interface Turn {
  readonly said: readonly string[];
  readonly call?: { readonly id: string; readonly query: string };
  /** The model stops here, after what it said, until this settles. */
  readonly until?: Promise<void>;
}

/** The same for every session: `turn` counts the results that the model has been shown, from 0 on. */
export type Script = (turn: number) => Turn;

export const PROMPT = 'Which of our suppliers were late this week? Look each of them up.';
export const INSTRUCTIONS = 'You look things up with the tool and answer briefly.';
export const TOOL = 'lookup';
export const TOOL_DESCRIPTION = 'Looks a supplier up and says how late it was.';

/** The tool, for everybody: instant. */
export const answer = (query: string) => ({ supplier: query, late_days: query.length });

const LOOKING = 'I have to look up the next supplier before I can answer that.';
const ANSWER = 'Two suppliers were late: Alder by five days and Birch by three.';

/** `steps` turns that each call the tool once, then the answer. */
export const stepScript =
  (steps: number): Script =>
  (turn) =>
    turn < steps
      ? { said: [LOOKING], call: { id: `call_${turn + 1}`, query: `supplier-${turn + 1}` } }
      : { said: [ANSWER] };

/** One step, then a turn that stops after some words: what a server holds for each of its clients. */
export const heldScript =
  (until: Promise<void>): Script =>
  (turn) =>
    turn === 0 ? stepScript(1)(0) : { said: ['Two suppliers', ' were late', ': Alder'], until };

/** Characters a session's reader must have been given, whatever stands around them. */
export function charactersOf(script: Script, turns: number): number {
  let characters = 0;
  for (let turn = 0; turn < turns; turn += 1)
    for (const piece of script(turn).said) characters += piece.length;
  return characters;
}
