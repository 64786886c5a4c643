import type { Contestant } from './contestant.ts';

type MinimalEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tag'; readonly name: string; readonly closing: boolean };

const NAMES = ['thought', 'action', 'metadata', 'response', 'if', 'else', 'foreach', 'parallel'];
const LONGEST_TAG = 256;
const LESS = '<';

/**
 * The least that a push parser of tags which returns events can do; nothing that reads the protocol can be faster.
 *
 * It does: return a fresh array for each push, with one event object for each piece of text, in the call that brought
 * the text; look for `<` with `indexOf`; carry from a `<` on what may still become a reserved tag (at most 256
 * characters); give an event for each tag.
 *
 * It does not: know Markdown code or JSON strings, so it takes quoted tags for tags; keep a stack; read attributes (a
 * tag ends at its first `>`); gather bodies, parse JSON, drop white space or line breaks, guard surrogate pairs,
 * report faults. Bodies leave as text.
 */
function createMinimalMachine(): { push(chunk: string): MinimalEvent[]; end(): MinimalEvent[] } {
  let carry = '';
  return {
    push(chunk) {
      const input = carry === '' ? chunk : carry + chunk;
      carry = '';
      let at = input.indexOf(LESS);
      if (at === -1) return [{ type: 'text', text: input }];
      const events: MinimalEvent[] = [];
      let from = 0;
      while (at !== -1) {
        const end = tagEnd(input, at);
        if (end === 0) {
          at = input.indexOf(LESS, at + 1);
          continue;
        }
        if (at > from) events.push({ type: 'text', text: input.slice(from, at) });
        if (end === -1) {
          carry = input.slice(at);
          return events;
        }
        const closing = input.charCodeAt(at + 1) === 47;
        events.push({ type: 'tag', name: nameAt(input, closing ? at + 2 : at + 1), closing });
        from = end;
        at = input.indexOf(LESS, from);
      }
      if (from < input.length) events.push({ type: 'text', text: from === 0 ? input : input.slice(from) });
      return events;
    },
    end: () => (carry === '' ? [] : [{ type: 'text', text: carry }]),
  };
}

/** Where the tag at `at` ends; 0 if it is no tag, -1 if that is not certain yet. */
export function tagEnd(input: string, at: number): number {
  const from = input.charCodeAt(at + 1) === 47 ? at + 2 : at + 1;
  if (from >= input.length) return -1;
  const name = nameAt(input, from);
  if (name === '') {
    const rest = input.slice(from, from + 9);
    return from + rest.length === input.length && NAMES.some((known) => known.startsWith(rest)) ? -1 : 0;
  }
  const end = input.indexOf('>', from + name.length);
  if (end !== -1) return end + 1;
  return input.length - at < LONGEST_TAG ? -1 : 0;
}

export const nameAt = (input: string, from: number): string => {
  for (const known of NAMES) {
    if (!input.startsWith(known, from)) continue;
    const after = input.charCodeAt(from + known.length);
    if (after === 62 || after === 47 || after === 32 || after === 10 || after === 13 || after === 9)
      return known;
  }
  return '';
};

export const minimalMachine: Contestant = {
  name: 'minimal machine',
  readsBodies: false,
  run(turns) {
    let characters = 0;
    let tags = 0;
    const take = (events: readonly MinimalEvent[]) => {
      for (const event of events) {
        if (event.type === 'text') characters += event.text.length;
        else tags += 1;
      }
    };
    for (const chunks of turns) {
      const machine = createMinimalMachine();
      for (const chunk of chunks) take(machine.push(chunk));
      take(machine.end());
    }
    return { bodies: [], witness: characters + tags };
  },
};
