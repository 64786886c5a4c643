import { type Contestant, parseBody } from './contestant.ts';
import { nameAt, tagEnd } from './minimal-machine.ts';

/**
 * The minimal machine, with the one thing added that no parser which hands out bodies can leave out: the text of an
 * `action` or `metadata` is gathered (and gives no event) and parsed once, at the first own closing tag after a `}`.
 * What that costs is a bound for ours. It still knows no strings, so a quoted closing tag cuts a body short.
 */
type Event =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tag'; readonly name: string; readonly closing: boolean };

function createMachine(bodies: unknown[]): { push(chunk: string): Event[]; end(): Event[] } {
  let carry = '';
  /** The name of the element whose body is being read. */
  let within = '';
  let body = '';
  const take = (text: string, events: Event[]) => {
    if (within === '') events.push({ type: 'text', text });
    else body += text;
  };
  return {
    push(chunk) {
      const input = carry === '' ? chunk : carry + chunk;
      carry = '';
      let at = input.indexOf('<');
      if (at === -1) {
        if (within === '') return [{ type: 'text', text: input }];
        body += input;
        return [];
      }
      const events: Event[] = [];
      let from = 0;
      while (at !== -1) {
        const end = tagEnd(input, at);
        if (end === 0) {
          at = input.indexOf('<', at + 1);
          continue;
        }
        if (at > from) take(input.slice(from, at), events);
        if (end === -1) {
          carry = input.slice(at);
          return events;
        }
        const closing = input.charCodeAt(at + 1) === 47;
        const name = nameAt(input, closing ? at + 2 : at + 1);
        if (within === '') {
          events.push({ type: 'tag', name, closing });
          if (!closing && (name === 'action' || name === 'metadata')) within = name;
        } else if (closing && name === within && body.trimEnd().endsWith('}')) {
          if (name === 'action') parseBody(body, bodies);
          else parseBody(body, []);
          within = '';
          body = '';
        } else body += input.slice(at, end);
        from = end;
        at = input.indexOf('<', from);
      }
      if (from < input.length) take(from === 0 ? input : input.slice(from), events);
      return events;
    },
    end: () => (carry === '' ? [] : [{ type: 'text', text: carry }]),
  };
}

export const minimalWithBodies: Contestant = {
  name: 'minimal, with bodies',
  readsBodies: true,
  run(turns) {
    const bodies: unknown[] = [];
    let characters = 0;
    let tags = 0;
    const take = (events: readonly Event[]) => {
      for (const event of events) {
        if (event.type === 'text') characters += event.text.length;
        else tags += 1;
      }
    };
    for (const chunks of turns) {
      const machine = createMachine(bodies);
      for (const chunk of chunks) take(machine.push(chunk));
      take(machine.end());
    }
    return { bodies, witness: characters + tags };
  },
};
