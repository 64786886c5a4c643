/**
 * The reference reading of protocol.md: sections 1 to 6 over the whole input at once, as plainly as the page
 * says them and as slowly as that takes. It is the oracle of the property tests, written from the page alone;
 * numbers in comments are the page's rules. Fault messages are ''.
 */
import type { ActionIntent, FaultCode, ParserEvent, Place, SpeechTag } from '../../src/parser/intents.ts';
import { attributeOf, isId, isReadable, readActionAttributes, readEnvelope } from './reference-envelope.ts';
import { createIdLedger, type Path, type Taking } from './reference-ids.ts';
import { readObject } from './reference-json.ts';
import {
  type Body,
  bodyFollows,
  isControl,
  isReservedTag,
  isSpace,
  type Opening,
  onlySpaceFollows,
  readBody,
  readClosing,
  readOpening,
  type TagName,
} from './reference-lexis.ts';

export interface ReferenceOptions {
  readonly max_body?: number;
  readonly actions_in?: readonly Place[];
  readonly key?: string;
  readonly ids?: Iterable<string>;
}

type WholeTag = Extract<Opening, { is: 'tag' }>;

interface If {
  readonly name: 'if';
  readonly test: string;
  branch: 'then' | 'else';
}
interface Foreach {
  readonly name: 'foreach';
  readonly in: string;
  readonly as: string;
  readonly actions: ActionIntent[];
  readonly takings: Taking[];
}
type Element =
  | { readonly name: SpeechTag }
  | { readonly name: 'parallel'; readonly id: string | undefined }
  | If
  | Foreach;

const isSpeech = (element: Element): boolean => element.name === 'thought' || element.name === 'response';

export function referenceParse(input: string, options: ReferenceOptions = {}): ParserEvent[] {
  const maxBody = options.max_body ?? 1024 * 1024;
  const actionsIn: readonly Place[] = options.actions_in ?? ['outside', 'thought'];
  const ids = createIdLedger(options.ids ?? []);

  const events: ParserEvent[] = [];
  const stack: Element[] = [];
  let at = 0;
  /** Where the line began; "a tag begins a new line" (2.3). */
  let lineFrom = 0;
  /** 2.1: "What was held as a tag and is text is not searched for tags again": up to here. */
  let searchedTo = 0;
  let inDoubt = false;
  let fenceOpen = false;
  /** The run so far (2.6): its text and the faults between, from `runFrom` on still to be cut. */
  let run: ParserEvent[] = [];
  let runFrom = 0;
  let runFollowsOpening = false;

  // ---- Where we stand -------------------------------------------------------------------------------------

  const place = (): Place => (stack.findLast(isSpeech)?.name as SpeechTag | undefined) ?? 'outside';
  const innermost = () => stack.at(-1);
  /** A response shuts in what stands in it: nothing in it reaches an element opened outside it. */
  const reach = () => stack.findLastIndex((element) => element.name === 'response');
  const innermostNamed = (name: TagName) => {
    const index = stack.findLastIndex((element) => element.name === name);
    return index >= reach() ? index : -1;
  };
  const path = (): Path =>
    stack.flatMap((element) => (element.name === 'if' ? [{ of: element, branch: element.branch }] : []));

  // ---- 2.6 Runs and events --------------------------------------------------------------------------------

  const speak = (text: string): ParserEvent => {
    const tag = place();
    return tag === 'outside' ? { type: 'text', text } : { type: 'delta', tag, text };
  };
  const faultOf = (code: FaultCode): ParserEvent => ({ type: 'fault', code, message: '' });

  /** 2.8: a fault about text stands where its `<` stood. */
  function faultInRun(code: FaultCode) {
    run.push(speak(input.slice(runFrom, at)), faultOf(code));
    runFrom = at;
  }

  /** Ends the run at a tag that counts, or at the end of the stream. */
  function endRun(end: number, endsSpeech: boolean) {
    run.push(speak(input.slice(runFrom, end)));
    const pieces = run.map((event) => ('text' in event ? { ...event } : event));
    const first = pieces[0];
    const last = pieces.at(-1);
    if (runFollowsOpening && first && 'text' in first)
      Object.assign(first, { text: first.text.replace(/^\r?\n/, '') });
    if (endsSpeech && last && 'text' in last) Object.assign(last, { text: last.text.replace(/\r?\n$/, '') });
    const blank = pieces.every((event) => 'text' in event && isSpace(event.text));
    if (!blank) events.push(...pieces.filter((event) => !('text' in event) || event.text !== ''));
    run = [];
    runFollowsOpening = false;
  }

  /** The parser goes on after a tag that counts. */
  function goOnAt(next: number) {
    at = next;
    runFrom = next;
    lineFrom = next;
  }

  /** Text up to `end` that was held as a tag; Markdown in it counts, so the walk goes on behind its `<`. */
  function asText(code: FaultCode | undefined, end: number, doubt = false) {
    if (code) faultInRun(code);
    searchedTo = Math.max(searchedTo, end);
    inDoubt ||= doubt;
    at += 1;
  }

  // ---- 2.5 Closing ----------------------------------------------------------------------------------------

  function close(element: Element, how: 'closed' | 'left_open' | 'truncated') {
    const whole = how === 'closed';
    switch (element.name) {
      case 'thought':
      case 'response':
        if (!whole) events.push(faultOf(how === 'left_open' ? 'thought_left_open' : 'truncated'));
        events.push({
          type: 'close',
          tag: element.name,
          ...(how === 'truncated' ? { truncated: true } : {}),
        });
        return;
      case 'if':
        if (!whole) events.push(faultOf('truncated'));
        events.push({ type: 'if', test: element.test, body: 'close' });
        return;
      case 'parallel':
        if (!whole) events.push(faultOf('truncated'));
        events.push({
          type: 'parallel',
          ...(element.id === undefined ? {} : { id: element.id }),
          body: 'close',
        });
        return;
      case 'foreach': {
        if (whole && !inDoubt) {
          events.push({ type: 'foreach', in: element.in, as: element.as, actions: element.actions });
          return;
        }
        events.push(faultOf(whole ? 'in_doubt' : 'truncated'));
        ids.release(element.takings);
      }
    }
  }

  /** Closes what was left open inside the element at `index`, innermost first. */
  function closeInside(index: number) {
    for (const element of stack.splice(index + 1).reverse()) close(element, 'left_open');
  }

  /** A closing tag that counts: it closes the element at `index`. */
  function closeAt(index: number, end: number, leavesFenceOpen = false) {
    endRun(at, stack.slice(index).some(isSpeech));
    if (leavesFenceOpen) {
      events.push(faultOf('fence_left_open'));
      inDoubt = true;
    }
    closeInside(index);
    close(stack.pop()!, 'closed');
    goOnAt(end);
  }

  function closingTag(name: TagName, end: number) {
    const index = innermostNamed(name);
    if (index < 0) return asText(place() === 'response' ? undefined : 'stray_close', end); // 2.4: no fault in a response
    if (isControl(name) && !actionsIn.includes(place())) return asText('not_here', end); // 2.4
    return closeAt(index, end);
  }

  // ---- 2.3 Code -------------------------------------------------------------------------------------------

  /** The closing tag of the innermost open element at `from`, which may count in code. */
  function ownClosingTag(from: number): number | undefined {
    const closing = from < searchedTo ? undefined : readClosing(input, from);
    return closing?.is === 'tag' && closing.name === innermost()?.name ? closing.end : undefined;
  }

  const runLength = (char: string, from: number) => {
    let end = from;
    while (input[end] === char) end += 1;
    return end - from;
  };

  /** A run opens code at `at`. */
  function code(char: '`' | '~', length: number) {
    const from = at;
    at += length;
    while (at < input.length && input[at] !== '\n') {
      if (char === '`' && input[at] === '`') {
        const next = runLength('`', at);
        at += next;
        if (next === length) return;
        continue;
      }
      const end = input[at] === '<' ? ownClosingTag(at) : undefined;
      if (end !== undefined && onlySpaceFollows(input, end)) return closeAt(stack.length - 1, end); // (a)
      at += 1;
    }
    if (length >= 3) block(char, length, from);
  }

  /** "One of three or more goes on as a block." Here `at` stands on the line feed or the end of the stream. */
  function block(char: '`' | '~', length: number, from: number) {
    while (at < input.length) {
      const line = at + 1;
      const feed = input.indexOf('\n', line);
      const lineEnd = feed < 0 ? input.length : feed;

      const before = /^[ \t\r>]*/.exec(input.slice(line, lineEnd))![0].length;
      const closingRun = runLength(char, line + before);
      const afterRun = line + before + closingRun;
      if (closingRun >= length) {
        if (/^[ \t\r>]*$/.test(input.slice(afterRun, lineEnd))) {
          at = lineEnd;
          return;
        }
        const end = ownClosingTag(afterRun);
        if (end !== undefined) {
          at = afterRun;
          return closeAt(stack.length - 1, end); // (b)
        }
      }

      const indent = /^[ \t\r]*/.exec(input.slice(line, lineEnd))![0].length;
      const end = ownClosingTag(line + indent);
      if (end !== undefined && onlySpaceFollows(input, end) && !holdsOpen(from, line + indent)) {
        at = line + indent;
        return closeAt(stack.length - 1, end, true); // (c)
      }
      at = lineEnd;
    }
    fenceOpen = true;
  }

  /** (c) "unless the block holds an opening tag of that name not yet closed". */
  function holdsOpen(from: number, to: number): boolean {
    const name = innermost()?.name;
    let open = 0;
    for (let i = Math.max(from, searchedTo); i < to; i++) {
      if (input[i] !== '<') continue;
      const opening = readOpening(input.slice(0, to), i);
      const closing = readClosing(input.slice(0, to), i);
      if (opening?.is === 'unfinished') break;
      if (opening?.is === 'tag' && opening.name === name && !opening.empty) open += 1;
      if (opening !== undefined) i = opening.end - 1; // 2.1: "not searched for tags again", broken or too long
      if (closing?.is === 'tag' && closing.name === name) open = Math.max(0, open - 1);
    }
    return open > 0;
  }

  /** "with nothing before it on its line but white space, `>` and list marks" */
  const opensTildeBlock = () =>
    runLength('~', at) >= 3 && /^(?:[ \t\r>]|(?:[-*+]|[0-9]+[.)])[ \t\r])*$/.test(input.slice(lineFrom, at));

  // ---- 2.4, 2.5 Which opening tags must be text where they stand -------------------------------------------

  function textHere(name: TagName): { code: FaultCode; doubt: boolean } | undefined {
    const acts = name === 'action' || name === 'metadata' || isControl(name);
    const where = place();
    const text = (code: FaultCode, doubt = false) => ({ code, doubt });
    if (where === 'response' && !(acts && actionsIn.includes('response'))) return text('not_in_response');
    if (name === 'result' || name === 'context_feed') return text('reserved_tag');
    if (acts && !actionsIn.includes(where)) return text('not_here');
    if (name === 'else') {
      const owner = stack[innermostNamed('if')];
      return owner?.name === 'if' && owner.branch === 'then' ? undefined : text('stray_close', true);
    }
    if (isControl(name) && stack.some((element) => element.name === 'foreach')) return text('not_here', true);
    if (name === 'response' && inside() < stack.length && !isSpace(input.slice(lineFrom, at)))
      return text('not_here');
    return undefined;
  }

  /** The thoughts, `foreach` and `parallel` a `<response>` stands in, up to the nearest `<if>`: from this index on. */
  const inside = () => stack.findLastIndex((element) => element.name === 'if') + 1;

  // ---- 2.1 Opening tags -----------------------------------------------------------------------------------

  function openingTag(opening: Opening) {
    const { name } = opening;
    const misplaced = textHere(name);
    if (misplaced && opening.certain !== undefined)
      return asText(misplaced.code, opening.certain, misplaced.doubt);
    switch (opening.is) {
      case 'unfinished':
        return asText(undefined, opening.end);
      case 'broken':
        return asText('bad_attribute', opening.end, isControl(name));
      case 'too_long':
        return asText('tag_too_long', opening.end, isControl(name));
      case 'tag':
        return wholeTag(opening);
    }
  }

  function wholeTag(tag: WholeTag) {
    const { name, end, attributes } = tag;
    // Section 8: a tag that acts needs the key.
    const needsKey = name === 'action' || name === 'metadata' || name === 'foreach';
    if (needsKey && options.key !== undefined && attributeOf(attributes.list, 'key') !== options.key)
      return asText('unsealed', end, name === 'foreach');

    switch (name) {
      case 'thought':
        return thought(tag);
      case 'response':
        return response(tag);
      case 'action':
      case 'metadata':
        if (
          name === 'action' &&
          attributes.list.some((each) => each.name === 'name' && each.value !== undefined)
        ) {
          const empty = emptyAction(tag);
          if (empty) return isAlone(empty.end) ? acting(name, tag, empty) : asText('no_body', empty.end);
        }
        if (tag.empty || !bodyFollows(input, end)) return asText('no_body', end);
        return acting(name, tag, readBody(input, end, name));
      case 'if':
      case 'else':
      case 'foreach':
      case 'parallel':
        return control(name, tag);
      case 'result':
      case 'context_feed':
        throw new Error('a reserved tag is text wherever it stands');
    }
  }

  function openSpeech(name: SpeechTag, event: ParserEvent, tag: WholeTag) {
    events.push(event);
    stack.push({ name });
    goOnAt(tag.end);
    runFollowsOpening = true;
    if (tag.empty) closeAt(stack.length - 1, tag.end);
  }

  /** Section 6: `depth` counts the thoughts open around it. */
  const depth = () => stack.filter(({ name }) => name === 'thought').length;

  function thought(tag: WholeTag) {
    endRun(at, false);
    openSpeech('thought', { type: 'open', tag: 'thought', depth: depth() }, tag);
  }

  /** 2.5: `<response>` closes the thoughts, `foreach` and `parallel` it stands in, up to the nearest `<if>`. */
  function response(tag: WholeTag) {
    const from = inside();
    endRun(at, stack.slice(from).some(isSpeech));
    closeInside(from - 1);
    const written = tag.attributes.list.find(({ name }) => name === 'final');
    const value = written === undefined ? 'true' : (written.value ?? 'true').toLowerCase();
    if (value !== 'true' && value !== 'false') events.push(faultOf('bad_attribute'));
    const final = value === 'true' && !inDoubt;
    openSpeech('response', { type: 'open', tag: 'response', depth: depth(), final }, tag);
  }

  /** Section 1: control tags. One that cannot be read, or lacks what it needs, is text and puts the turn in doubt. */
  function control(name: 'if' | 'else' | 'foreach' | 'parallel', tag: WholeTag) {
    const { list } = tag.attributes;
    const known: readonly string[] = { if: ['test'], else: [], foreach: ['in', 'as'], parallel: ['id'] }[
      name
    ];
    const unreadable = () => asText('bad_attribute', tag.end, true);
    if (!isReadable(tag.attributes)) return unreadable();
    const unknown = list.some((attribute) => attribute.name !== 'key' && !known.includes(attribute.name));
    const value = (attribute: string) => attributeOf(list, attribute);

    switch (name) {
      case 'if': {
        const test = value('test');
        if (!test) return unreadable();
        endRun(at, false);
        if (unknown) events.push(faultOf('bad_attribute'));
        events.push({ type: 'if', test, body: 'open' });
        stack.push({ name, test, branch: 'then' });
        break;
      }
      case 'else': {
        const index = innermostNamed('if');
        const owner = stack[index] as If;
        endRun(at, stack.slice(index).some(isSpeech));
        closeInside(index);
        if (unknown) events.push(faultOf('bad_attribute'));
        owner.branch = 'else';
        events.push({ type: 'if', test: owner.test, body: 'else' });
        return goOnAt(tag.end);
      }
      case 'foreach': {
        const list = value('in');
        const as = value('as') ?? 'item';
        if (!list || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(as)) return unreadable();
        endRun(at, false);
        if (unknown) events.push(faultOf('bad_attribute'));
        stack.push({ name, in: list, as, actions: [], takings: [] });
        break;
      }
      case 'parallel': {
        const asked = value('id');
        const bad = asked !== undefined && !isId(asked);
        const taken = asked !== undefined && !bad && !ids.isFree(asked, path());
        const id = bad || taken ? undefined : asked;
        endRun(at, false);
        if (unknown) events.push(faultOf('bad_attribute'));
        if (bad) events.push(faultOf('bad_attribute'));
        if (taken) events.push(faultOf('duplicate_id'));
        if (id !== undefined) ids.take(id, path());
        events.push({ type: 'parallel', ...(id === undefined ? {} : { id }), body: 'open' });
        stack.push({ name, id });
      }
    }
    goOnAt(tag.end);
    if (tag.empty) closeAt(stack.length - 1, tag.end);
  }

  // ---- 3, 4 Actions and metadata ----------------------------------------------------------------------------

  /** 2.1: `<action name="clock"/>`, or nothing but white space before `</action>`. */
  function emptyAction(tag: WholeTag): { space: string; end: number } | undefined {
    if (tag.empty) return { space: '', end: tag.end };
    const space = /^[ \t\r\n]*/.exec(input.slice(tag.end))![0];
    const closing = readClosing(input, tag.end + space.length);
    return closing?.is === 'tag' && closing.name === 'action' ? { space, end: closing.end } : undefined;
  }

  /** 2.1: "if it stands alone on its line or lines, other tags aside". */
  function isAlone(end: number): boolean {
    if (!isSpace(input.slice(lineFrom, at))) return false;
    const next = end + /^[ \t\r]*/.exec(input.slice(end))![0].length;
    return next >= input.length || input[next] === '\n' || isReservedTag(input, next);
  }

  function acting(name: 'action' | 'metadata', tag: WholeTag, found: Body | { space: string; end: number }) {
    endRun(at, false);
    const isEmpty = 'space' in found;
    const body: Body = isEmpty ? { is: 'closed', text: '{}', next: found.end } : found;
    const length = isEmpty ? found.space.length : body.text.length;
    const outcome = (): FaultCode | undefined => {
      // 2.8: "one fault for each: the first of body_too_large in_doubt bad_attribute bad_json bad_action duplicate_id"
      if (length > maxBody) return 'body_too_large';
      if (body.is === 'truncated') return 'truncated';
      if (inDoubt) return 'in_doubt';
      return name === 'action' ? action(tag, body) : metadata(tag, body);
    };
    const code = outcome();
    if (code) events.push(faultOf(code));
    inDoubt ||= body.is === 'broken';
    goOnAt(body.next);
  }

  function metadata({ attributes }: WholeTag, body: ReturnType<typeof readBody>): FaultCode | undefined {
    if (!isReadable(attributes) || attributes.list.some(({ name }) => name !== 'key')) return 'bad_attribute';
    const read = body.is === 'broken' ? undefined : readObject(body.text);
    if (!read) return 'bad_json';
    events.push({ type: 'metadata', value: read.value, ...(read.repaired ? { repaired: true } : {}) });
    return undefined;
  }

  function action({ attributes }: WholeTag, body: ReturnType<typeof readBody>): FaultCode | undefined {
    const written = readActionAttributes(attributes);
    if (!written) return 'bad_attribute';
    const read = body.is === 'broken' ? undefined : readObject(body.text);
    if (!read) return 'bad_json';
    const inParallel = stack.some((element) => element.name === 'parallel');
    const envelope = readEnvelope(read.value, written, inParallel);
    if (!envelope) return 'bad_action';
    if (written.id !== undefined && !ids.isFree(written.id, path())) return 'duplicate_id';

    const id = written.id ?? ids.automatic();
    const taking = ids.take(id, path());
    const where = place();
    const intent: ActionIntent = {
      type: 'action',
      id,
      ...envelope,
      ...(where === 'outside' ? {} : { in: where }),
      ...(read.repaired ? { repaired: true } : {}),
    };
    const foreach = stack.find((element) => element.name === 'foreach');
    if (foreach?.name !== 'foreach') {
      events.push(intent);
      return undefined;
    }
    foreach.actions.push(intent);
    foreach.takings.push(taking);
    return undefined;
  }

  // ---- The walk -------------------------------------------------------------------------------------------

  function step() {
    const char = input[at];
    if (char === '`') return code('`', runLength('`', at));
    if (char === '~') {
      const length = runLength('~', at);
      if (opensTildeBlock()) return code('~', length);
      at += length;
      return;
    }
    if (char === '<' && at >= searchedTo) {
      const closing = readClosing(input, at);
      if (closing?.is === 'tag') return closingTag(closing.name, closing.end);
      if (closing?.is === 'too_long') {
        const counts = place() !== 'response' || innermostNamed(closing.name) >= 0;
        return asText(counts ? 'tag_too_long' : undefined, closing.end);
      }
      const opening = readOpening(input, at);
      if (opening) return openingTag(opening);
    }
    at += 1;
    if (char === '\n') lineFrom = at;
  }

  while (at < input.length) step();
  endRun(input.length, stack.some(isSpeech));
  if (fenceOpen) events.push(faultOf('fence_left_open')); // 2.3, its last sentence
  for (const element of stack.splice(0).reverse()) close(element, 'truncated');
  return joinSpeech(events);
}

/** Section 6: adjacent `text`/`delta` of one tag are joined. */
export function joinSpeech(events: readonly ParserEvent[]): ParserEvent[] {
  const joined: ParserEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    if (event.type === 'text' && last?.type === 'text') {
      joined[joined.length - 1] = { type: 'text', text: last.text + event.text };
    } else if (event.type === 'delta' && last?.type === 'delta' && last.tag === event.tag) {
      joined[joined.length - 1] = { ...last, text: last.text + event.text };
    } else {
      joined.push(event);
    }
  }
  return joined;
}
