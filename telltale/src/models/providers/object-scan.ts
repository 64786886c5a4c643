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
