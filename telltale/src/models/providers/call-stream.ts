import { closeFrame, frameOf, type GivenPart, openFrame, withoutMarks } from '../../lib/calls.ts';
import type { JsonObject } from '../../lib/json.ts';
import { modelFailed } from '../model-errors.ts';

/** Where the parts of a provider's stream go; what comes out is prose and frames (lib/calls.ts). */
export interface CallStream {
  text(delta: string): void;
  /** Something that the provider wants back, behind what came before. */
  part(part: GivenPart): void;
  /** A call begins. */
  begin(id: string, name: string): void;
  /** More of its input. */
  input(id: string, delta: string): void;
  /** Its input is complete, the provider says; the call itself should follow at once. */
  inputEnd(id: string, meta: JsonObject | undefined): void;
  /** The whole call, whether or not it was begun before. */
  call(id: string, name: string, input: string, meta: JsonObject | undefined): void;
  /** From now on calls are closed only when the provider gives them whole: what it wants back comes with that. */
  awaitMeta(): void;
  /** The stream is over; `isWhole` unless it broke off or was cut for its length. */
  end(isWhole: boolean): void;
}

export interface CallStreamOptions {
  /** The model's, for errors. */
  readonly id: string;
  readonly say: (text: string) => void;
  readonly keep: (part: GivenPart) => void;
  /** Whether the provider says only at the end of the response which calls are complete. */
  readonly isLate: boolean;
}

/** Characters of parallel calls that wait for one another. */
const MAX_HELD_BACK = 16 * 1024 * 1024;

interface CallStreamCall {
  /** The provider's, or one of our own where that has none or gives one twice: each is answered by its id. */
  readonly id: string;
  readonly name: string;
  readonly scan: ObjectScan;
  /** Input that came while another frame was open; then the half of a character whose other half is to come. */
  held: string;
  /** Whether any of the input came as deltas. */
  isStreamed: boolean;
  /** The input, once the provider has given the call whole. */
  given?: string;
  /** `ended`: complete, if what is said next does not show that the stream broke off in it. */
  state: 'streaming' | 'ended' | 'complete' | 'closed';
  meta?: JsonObject | undefined;
}

type CallStreamWaiting = CallStreamCall | GivenPart | string;

const isCall = (item: CallStreamWaiting): item is CallStreamCall =>
  typeof item === 'object' && 'scan' in item;

/**
 * Makes one text of prose and calls that may come at the same time: one frame is open at a time, what comes for others
 * waits, and of those that wait the complete ones go first. A frame whose input the stream broke off in stays open.
 */
export function createCallStream({ id: model, say, keep, isLate }: CallStreamOptions): CallStream {
  /** By the provider's id, in the order in which they began: servers that number calls badly give one id to several. */
  const calls = new Map<string, CallStreamCall[]>();
  const ids = new Set<string>();
  let numbered = 0;
  /** Calls, prose and what is wanted back behind the open one, in the order in which they began. */
  let waiting: CallStreamWaiting[] = [];
  let open: CallStreamCall | undefined;
  let heldBack = 0;
  let mayCloseEarly = isLate;

  const holdBack = (characters: number) => {
    heldBack += characters;
    if (heldBack > MAX_HELD_BACK) throw tooMuchHeldBack(model);
  };
  const openNow = (call: CallStreamCall) => {
    open = call;
    const { held } = call;
    call.held = '';
    say(openFrame(call.id, call.name));
    if (held !== '') stream(call, held);
  };
  /** Two halves of a character stay together: whoever reads along sees no torn ones. */
  const stream = (call: CallStreamCall, delta: string) => {
    const text = call.held + delta;
    const isTorn = (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800;
    call.held = isTorn ? text.slice(-1) : '';
    const whole = isTorn ? text.slice(0, -1) : text;
    if (whole !== '') say(withoutMarks(whole));
  };
  const closeOpen = (call: CallStreamCall) => {
    say((call.scan.state === 'empty' ? '{}' : call.held) + closeFrame(call.meta));
    call.held = '';
    call.state = 'closed';
    open = undefined;
    release();
  };
  const release = () => {
    const rest: CallStreamCall[] = [];
    for (const item of waiting) {
      if (typeof item === 'string') say(item);
      else if (!isCall(item)) keep(item);
      else if (item.state === 'complete') {
        const { id, name, held, scan, meta } = item;
        const input = scan.state === 'empty' ? '{}' : held;
        say(frameOf({ id, name, input, ...(meta === undefined ? {} : { meta }) }));
        item.held = '';
        item.state = 'closed';
      } else rest.push(item);
    }
    const next = rest.shift();
    waiting = rest;
    heldBack = rest.reduce((sum, { held }) => sum + held.length, 0);
    if (next !== undefined) openNow(next);
  };
  const complete = (call: CallStreamCall) => {
    if (call === open) closeOpen(call);
    else call.state = 'complete';
  };
  /** The stream goes on behind calls that ended, so they are complete, whatever their input is. */
  const settle = () => {
    for (const item of waiting) if (isCall(item) && isSettled(item)) item.state = 'complete';
    if (open !== undefined && isSettled(open)) closeOpen(open);
  };
  const isSettled = ({ state, scan }: CallStreamCall): boolean =>
    state === 'ended' || (mayCloseEarly && state === 'streaming' && scan.state === 'whole');
  const begun = (id: string, name: string): CallStreamCall => {
    if (open !== undefined) settle();
    const call: CallStreamCall = {
      id: ownId(id),
      name,
      scan: scanObject(),
      held: '',
      isStreamed: false,
      state: 'streaming',
    };
    const same = calls.get(id);
    if (same === undefined) calls.set(id, [call]);
    else same.push(call);
    if (open === undefined) openNow(call);
    else {
      waiting.push(call);
      holdBack(id.length + name.length);
    }
    return call;
  };
  const ownId = (id: string): string => {
    let own = id;
    while (own === '' || ids.has(own)) own = `${id === '' ? 'call' : id}_${++numbered}`;
    ids.add(own);
    return own;
  };
  const latest = (id: string): CallStreamCall | undefined => calls.get(id)?.at(-1);
  const take = (call: CallStreamCall, delta: string) => {
    call.scan.read(delta);
    if (call === open) stream(call, delta);
    else {
      call.held += delta;
      holdBack(delta.length);
    }
  };

  return {
    text(delta) {
      if (open !== undefined) settle();
      const prose = withoutMarks(delta);
      if (open === undefined) say(prose);
      else {
        const last = waiting.at(-1);
        if (typeof last === 'string') waiting[waiting.length - 1] = last + prose;
        else waiting.push(prose);
        holdBack(prose.length);
      }
    },
    part(part) {
      if (open !== undefined) settle();
      if (open === undefined) keep(part);
      else waiting.push(part);
    },
    begin(id, name) {
      const known = latest(id);
      const isSaidAgain = known?.name === name && known.state === 'streaming' && !known.isStreamed;
      if (!isSaidAgain) begun(id, name);
    },
    input(id, delta) {
      const call = latest(id);
      // Behind a whole object there is nothing more that belongs to it.
      if (call === undefined || call.state === 'closed' || call.state === 'complete' || delta === '') return;
      call.isStreamed = true;
      take(call, delta);
      if (mayCloseEarly && call.scan.state === 'whole' && call.scan.hasMember) complete(call);
    },
    inputEnd(id, meta) {
      const call = latest(id);
      if (call?.state === 'streaming') {
        call.state = 'ended';
        call.meta = meta;
      }
    },
    call(id, name, input, meta) {
      const same = calls.get(id) ?? [];
      const streamed = same.find(({ given }) => given === undefined);
      // The same once more under an id of its own is a slip of the provider's, not a second call.
      const isAgain = id !== '' && same.some((each) => each.given === input && each.name === name);
      if (streamed === undefined && isAgain) return;
      const call = streamed ?? begun(id, name);
      call.given = input;
      if (call.state === 'closed' || call.state === 'complete') return;
      if (!call.isStreamed) take(call, input);
      call.meta = meta ?? call.meta;
      if (call.scan.state === 'whole') complete(call);
      else call.state = 'ended';
    },
    awaitMeta() {
      mayCloseEarly = false;
    },
    end(isWhole) {
      if (isWhole) settle();
    },
  };
}

const tooMuchHeldBack = (id: string) =>
  modelFailed(
    'model_broke_off',
    `${id}: parallel tool calls contain more than ${MAX_HELD_BACK.toLocaleString('en')} characters.`,
    {
      hint: 'The model writes several very large inputs at once. Ask it for smaller ones.',
      retryable: false,
    },
  );

/** Where a text that should become one JSON object stands. */
export type ObjectState =
  /** Nothing but white space yet. */
  | 'empty'
  | 'open'
  /** The object's last bracket was read, and nothing but white space since. */
  | 'whole'
  /** It is no object, or goes on behind it. */
  | 'other';

export interface ObjectScan {
  /** Reads on. Linear in what it is given, however that is cut. */
  read(text: string): void;
  readonly state: ObjectState;
  /** Whether the object has anything in it. */
  readonly hasMember: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Finds where a JSON object that comes in pieces ends, by its brackets and strings alone. An object that is whole
 * cannot become a longer one, so it may be acted on before the stream says that it is over.
 */
export function scanObject(): ObjectScan {
  let state: ObjectState = 'empty';
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  let hasMember = false;
  const readCode = (code: number) => {
    if (inString) {
      if (isEscaped) isEscaped = false;
      else if (code === BACKSLASH) isEscaped = true;
      else if (code === QUOTE) inString = false;
    } else if (isSpace(code)) return;
    else if (state !== 'open') {
      state = state === 'empty' && code === 0x7b ? 'open' : 'other';
      depth = 1;
    } else if (code === QUOTE) {
      inString = true;
      hasMember = true;
    } else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) state = 'whole';
  };
  return {
    read(text) {
      for (let at = 0; at < text.length && state !== 'other'; at++) readCode(text.charCodeAt(at));
    },
    get state() {
      return state;
    },
    get hasMember() {
      return hasMember;
    },
  };
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
