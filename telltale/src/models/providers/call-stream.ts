import { closeFrame, frameOf, type GivenPart, openFrame, withoutMarks } from '../../lib/calls.ts';
import type { JsonObject } from '../../lib/json.ts';
import { modelFailed } from '../model-errors.ts';

/** Receives the parts of a provider's stream, and produces prose and frames (lib/calls.ts). */
export interface CallStream {
  text(delta: string): void;
  /** A part that the provider needs back, positioned after what came before. */
  part(part: GivenPart): void;
  /** A call starts. */
  begin(id: string, name: string): void;
  /** More of a call's input. */
  input(id: string, delta: string): void;
  /** The provider says that the input is complete. The call itself should follow immediately. */
  inputEnd(id: string, meta: JsonObject | undefined): void;
  /** A complete call, whether or not it was started before. */
  call(id: string, name: string, input: string, meta: JsonObject | undefined): void;
  /**
   * From now on, calls are only closed when the provider sends them completely, because parts it needs back come with
   * that.
   */
  awaitMeta(): void;
  /** The stream is over. `isWhole` is false if it broke off or reached its length limit. */
  end(isWhole: boolean): void;
}

export interface CallStreamOptions {
  /** The model's id, for errors. */
  readonly id: string;
  readonly say: (text: string) => void;
  readonly keep: (part: GivenPart) => void;
  /** Whether the provider only reports at the end of the response which calls are complete. */
  readonly isLate: boolean;
}

/** The most characters of parallel calls that wait for each other. */
const MAX_HELD_BACK = 16 * 1024 * 1024;

interface CallStreamCall {
  /** The provider's id. If it is missing or repeated, one of our own, because each call is answered by its id. */
  readonly id: string;
  readonly name: string;
  readonly scan: ObjectScan;
  /** Input that arrived while another frame was open. Afterwards, the first half of a surrogate pair. */
  held: string;
  /** Whether any of the input arrived as deltas. */
  isStreamed: boolean;
  /** The input, once the provider has sent the complete call. */
  given?: string;
  /** `ended` means complete, unless the following parts show that the stream broke off in it. */
  state: 'streaming' | 'ended' | 'complete' | 'closed';
  meta?: JsonObject | undefined;
}

type CallStreamWaiting = CallStreamCall | GivenPart | string;

const isCall = (item: CallStreamWaiting): item is CallStreamCall =>
  typeof item === 'object' && 'scan' in item;

/**
 * Combines prose and calls, which may arrive in parallel, into one text. Only one frame is open at a time. Content of
 * other calls waits, and complete calls are written first. A frame stays open if the stream broke off inside its input.
 */
export function createCallStream({ id: model, say, keep, isLate }: CallStreamOptions): CallStream {
  /** By the provider's id, in the order of their starts. Some servers give several calls the same id. */
  const calls = new Map<string, CallStreamCall[]>();
  const ids = new Set<string>();
  let numbered = 0;
  /** Calls, prose and other parts after the open frame, in the order of their starts. */
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
  /** Keeps surrogate pairs together, so that readers never see half a character. */
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
  /** The stream continues after calls that ended, so they are complete, whatever their input is. */
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
      // Nothing after a complete object can belong to it.
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
      // The same call repeated with the same id is a mistake of the provider, not a second call.
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

/** The state of a text that should become one JSON object. */
export type ObjectState =
  /** Only white space so far. */
  | 'empty'
  | 'open'
  /** The object's last bracket was read, and only white space since. */
  | 'whole'
  /** It is not an object, or continues after it. */
  | 'other';

export interface ObjectScan {
  /** Reads more text. Linear in its length, however it is split. */
  read(text: string): void;
  readonly state: ObjectState;
  /** Whether the object has any member. */
  readonly hasMember: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Finds the end of a JSON object that arrives in pieces, using only brackets and strings. A complete object cannot
 * become longer, so it can be used before the stream ends.
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
