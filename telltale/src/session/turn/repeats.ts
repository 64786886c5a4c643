import { clip } from '../../prompt/cut-text.ts';

const MAX_SHOWN = 60;
const GO_ON = 'What you had closed by then counts. Do not go on with it: do the next thing, or answer.';

/** What a model is told that wrote the same text until it was cut off. */
export function sameText(period: string, run: number): string {
  const what = period.length === 1 ? 'character' : `${period.length} characters`;
  const shown = JSON.stringify(clip(fromLineOrWord(period), MAX_SHOWN));
  return `You wrote the same ${what} again and again (${shown}), ${run.toLocaleString('en')} characters in all, and were cut off there. ${GO_ON}`;
}

/** What is repeated has no beginning of its own: it is shown from a line, or a word, on. */
function fromLineOrWord(period: string): string {
  const at = Math.max(period.indexOf('\n'), 0) || Math.max(period.indexOf(' '), 0);
  const from = at === 0 ? 0 : at + 1;
  return period.slice(from) + period.slice(0, from);
}

/** The same where it was a call. */
export const sameCall = (name: string, times: number): string =>
  `You made the same call of "${name}" with the same parameters ${times} times in one turn, and were cut off there. ${GO_ON}`;
