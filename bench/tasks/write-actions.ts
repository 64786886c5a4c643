import type { Call } from './catalog.ts';

/** A call of a turn, with its arguments as the model writes them. */
export interface WrittenCall {
  readonly call: Call;
  readonly input: Readonly<Record<string, string>>;
  /** Calls of this turn that have to end first, beside those whose results stand in `input`. */
  readonly waits: readonly string[];
}

/** Calls of one tool that differ in one argument, and what is done with the result of each. */
interface Loop {
  readonly members: readonly WrittenCall[];
  readonly key: string;
  readonly base: string;
  next?: { readonly members: readonly WrittenCall[]; readonly base: string };
}

/** Fewer are shorter one by one. */
const MIN_ITEMS = 3;

/**
 * The actions of a turn in tags, as Telltale's prompt teaches them: the name in the tag, an id only where another call
 * or the answer needs it, and one `<foreach>` for calls that differ in one text.
 */
export function writeActions(written: readonly WrittenCall[], needsId: (id: string) => boolean): string {
  const loops = loopsIn(written);
  const loopOf = (id: string) =>
    loops.find(({ members, next }) =>
      [...members, ...(next?.members ?? [])].some(({ call }) => call.id === id),
    );
  // From outside, a call in a loop is an item of its list.
  const renamed = new Map(
    loops.flatMap(({ members, base, next }) => [
      ...members.map(({ call }, index) => [call.id, `${base}[${index}]`] as const),
      ...(next?.members ?? []).map(({ call }, index) => [call.id, `${next?.base}[${index}]`] as const),
    ]),
  );
  const outside = (text: string) => withNames(text, (id) => renamed.get(id) ?? id);
  const id = (each: WrittenCall, name: string) => (needsId(each.call.id) ? ` id="${name}"` : '');
  const lines: string[] = [];
  const done = new Set<Loop>();
  for (const each of written) {
    const loop = loopOf(each.call.id);
    if (loop === undefined) {
      const waits = [
        ...new Set(each.waits.map((wait) => (renamed.get(wait) ?? wait).replace(/\[\d+\]$/, ''))),
      ];
      const after = waits.length === 0 ? '' : ` depends_on="${waits.join(' ')}"`;
      lines.push(action(each, `${id(each, each.call.id)}${after}`, each.input, outside));
    } else if (!done.has(loop)) {
      done.add(loop);
      const { members, key, base, next } = loop;
      const items = JSON.stringify(members.map(({ input }) => input[key]));
      const list = items.replaceAll('&', '&amp;').replaceAll("'", '&apos;');
      const first = { ...each.input, [key]: `$${key}` };
      const inside = (text: string) => withNames(text, (name) => (name === each.call.id ? base : name));
      const then = next?.members[0];
      lines.push(
        `<foreach in='${list}' as="${key}">${action(each, id(each, base), first)}${
          then === undefined ? '' : action(then, id(then, next?.base ?? ''), then.input, inside)
        }</foreach>`,
      );
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

function action(
  { call: { tool } }: WrittenCall,
  attributes: string,
  input: WrittenCall['input'],
  rename: (text: string) => string = (text) => text,
): string {
  const kind = tool === 'researcher' ? ' type="agent"' : '';
  const body = Object.fromEntries(Object.entries(input).map(([key, value]) => [key, rename(value)]));
  return `<action${kind} name="${tool}"${attributes}>${JSON.stringify(body)}</action>`;
}

/** A text with the names of its references given anew. */
const withNames = (text: string, rename: (id: string) => string): string =>
  text
    .replace(/^\$(\w+)(?=$|[.[])/, (_, id: string) => `$${rename(id)}`)
    .replaceAll(/\{\{(\w+)/g, (_, id: string) => `{{${rename(id)}`);

function loopsIn(written: readonly WrittenCall[]): readonly Loop[] {
  const loops: Loop[] = [];
  const taken = new Set<WrittenCall>();
  for (const first of written) {
    if (taken.has(first) || hasReference(first)) continue;
    for (const key of Object.keys(first.input)) {
      const members = written.filter((each) => !taken.has(each) && isTwin(each, first, key));
      if (members.length < MIN_ITEMS) continue;
      const loop: Loop = { members, key, base: baseOf(first) };
      for (const member of members) taken.add(member);
      const then = members.map(({ call }) => written.filter((each) => isNext(each, call.id)));
      const next = then.flatMap((found) => (found.length === 1 ? found : []));
      const [model] = next;
      const isSame = (each: WrittenCall, index: number) =>
        model !== undefined &&
        each.call.tool === model.call.tool &&
        JSON.stringify(each.input).replaceAll(members[index]?.call.id ?? '', '') ===
          JSON.stringify(model.input).replaceAll(first.call.id, '');
      if (model !== undefined && next.length === members.length && next.every(isSame)) {
        loop.next = { members: next, base: baseOf(model) };
        for (const each of next) taken.add(each);
      }
      loops.push(loop);
      break;
    }
  }
  return loops;
}

const baseOf = ({ call: { id } }: WrittenCall): string => id.replace(/_\d+$/, '');

const hasReference = ({ input }: WrittenCall): boolean =>
  Object.values(input).some((value) => /^\$\w|\{\{\w/.test(value));

/** Whether two calls are the same but for the argument `key`. */
const isTwin = (one: WrittenCall, other: WrittenCall, key: string): boolean =>
  one.call.tool === other.call.tool &&
  !hasReference(one) &&
  one.waits.length === 0 &&
  JSON.stringify({ ...one.input, [key]: '' }) === JSON.stringify({ ...other.input, [key]: '' });

/** Whether a call needs the result of `id`, and of no other call. */
const isNext = ({ input, waits }: WrittenCall, id: string): boolean =>
  waits.length === 0 && Object.values(input).every((value) => value.startsWith(`$${id}.`));
