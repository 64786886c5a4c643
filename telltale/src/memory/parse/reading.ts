import type { Node } from 'web-tree-sitter';
import type { GraphCall, GraphImport, GraphSymbol, SymbolKind } from '../../store/graph.ts';

type ReadingDraft = { -readonly [Key in keyof GraphSymbol]: GraphSymbol[Key] } & { asContainer: boolean };

export function createReading(text: string): Reading {
  const drafts: ReadingDraft[] = [];
  const imports: GraphImport[] = [];
  const calls: GraphCall[] = [];
  const exportedNames = new Set<string>();
  const aliases = new Map<string, string>();
  const outermost = new Map<string, number>();
  const frames: ReadingFrame[] = [
    {
      place: 'file',
      start: 0,
      end: text.length + 1,
      symbol: undefined,
      body: undefined,
      exported: false,
      owner: undefined,
      overloads: new Map(),
    },
  ];
  let full = false;
  let decorators: { start: number; end: number } | undefined;
  const isBlank = (from: number, to: number) => text.slice(from, to).trim() === '';

  const reading: Reading = {
    text,
    get frame() {
      return frames[frames.length - 1]!;
    },
    get around() {
      let index = frames.length - 1;
      while (frames[index]!.place === 'wrapper') index -= 1;
      return frames[index]!;
    },
    get isFull() {
      return drafts.length >= MAX_SYMBOLS && calls.length >= MAX_CALLS;
    },
    enter(node, place, { symbol, body, exported = false, owner } = {}) {
      const frame: ReadingFrame = {
        place,
        start:
          place === 'wrapper' && reading.frame.place === 'wrapper' ? reading.frame.start : node.startIndex,
        end: node.endIndex,
        symbol: symbol ?? reading.frame.symbol,
        body: body?.startIndex,
        exported: exported || (place === 'wrapper' && reading.frame.exported),
        owner,
        overloads: new Map(),
      };
      frames.push(frame);
      return frame;
    },
    leave(start) {
      while (frames.length > 1 && frames[frames.length - 1]!.end <= start) frames.pop();
    },
    add({ name, kind, at, node, signature, doc, exported, container = reading.frame.symbol }) {
      if (drafts.length >= MAX_SYMBOLS) {
        full = true;
        return undefined;
      }
      if (container === undefined && !outermost.has(name)) outermost.set(name, drafts.length);
      return (
        drafts.push({
          name: name.slice(0, MAX_NAME),
          kind,
          line: at.startPosition.row + 1,
          endLine: node.endPosition.row + 1,
          signature,
          exported: exported === true,
          asContainer: exported === 'as container',
          ...(container === undefined ? {} : { container }),
          ...(doc === undefined ? {} : { doc }),
        }) - 1
      );
    },
    extend(symbol, node) {
      drafts[symbol]!.endLine = node.endPosition.row + 1;
    },
    find(name) {
      return outermost.get(name);
    },
    exportName(name) {
      exportedNames.add(name);
    },
    import(found) {
      if (imports.length >= MAX_IMPORTS || found.names.length > MAX_IMPORTED_NAMES) full = true;
      if (imports.length >= MAX_IMPORTS || found.specifier === '' || found.specifier.length > MAX_SPECIFIER)
        return;
      imports.push({ ...found, names: found.names.slice(0, MAX_IMPORTED_NAMES) });
    },
    alias(local, name) {
      if (aliases.size < MAX_IMPORTS) aliases.set(local, name);
    },
    call(name, receiver, line) {
      if (calls.length >= MAX_CALLS) full = true;
      if (calls.length >= MAX_CALLS || name.length > MAX_NAME) return;
      const from = reading.frame.symbol;
      calls.push({
        name,
        line,
        ...(receiver === undefined ? {} : { receiver }),
        ...(from === undefined ? {} : { from }),
      });
    },
    decorator(node) {
      const follows = decorators !== undefined && isBlank(decorators.end, node.startIndex);
      decorators = { start: follows ? decorators!.start : node.startIndex, end: node.endIndex };
    },
    decoratedStart(node) {
      const follows =
        decorators !== undefined &&
        decorators.end <= node.startIndex &&
        isBlank(decorators.end, node.startIndex);
      return follows ? decorators!.start : node.startIndex;
    },
    finish() {
      for (const draft of drafts) {
        if (draft.container === undefined) draft.exported ||= exportedNames.has(draft.name);
        else if (draft.asContainer) draft.exported = drafts[draft.container]!.exported;
      }
      const named = calls.map((call) => {
        const name = call.receiver === undefined ? aliases.get(call.name) : undefined;
        return name === undefined ? call : { ...call, name };
      });
      return { symbols: drafts.map(({ asContainer, ...symbol }) => symbol), imports, calls: named, full };
    },
  };
  return reading;
}

/** Where the nodes that are being read stand. */
export type ReadingPlace =
  | 'file'
  /** Names are the container's: a namespace, the body of a class. */
  | 'namespace'
  | 'members'
  /** `export`, `declare`: what is within stands where this stands. */
  | 'wrapper'
  /** A declaration outside of its body. */
  | 'head'
  /** Names are local. */
  | 'block';

export interface ReadingFrame {
  readonly place: ReadingPlace;
  /** Of the outermost, where wrappers stand in each other. */
  readonly start: number;
  readonly end: number;
  /** The symbol that it belongs to, its own or the one around it. */
  readonly symbol: number | undefined;
  /** Where the node starts that is this one's body. */
  readonly body: number | undefined;
  readonly exported: boolean;
  /** The class whose fields are set here, where that is how a language declares them. */
  readonly owner: ReadingFrame | undefined;
  /** Declarations without a body that stand here: one of the same name that follows is the same symbol. */
  readonly overloads: Map<string, number>;
}

export interface NewSymbol {
  readonly name: string;
  readonly kind: SymbolKind;
  /** Where its name stands. */
  readonly at: Node;
  /** Its whole extent. */
  readonly node: Node;
  readonly signature: string;
  readonly doc: string | undefined;
  /** `as container`: as far as the symbol it stands in. */
  readonly exported: boolean | 'as container';
  /** The symbol it stands in, where that is not the frame's. */
  readonly container?: number | undefined;
}

export interface FrameOptions {
  readonly symbol?: number | undefined;
  readonly body?: Node | null;
  readonly exported?: boolean;
  readonly owner?: ReadingFrame | undefined;
}

/** What has been read of a text so far. */
export interface Reading {
  readonly text: string;
  /** The innermost frame; its place is never `wrapper` where `around` is asked for. */
  readonly frame: ReadingFrame;
  readonly around: ReadingFrame;
  enter(node: Node, place: ReadingPlace, options?: FrameOptions): ReadingFrame;
  /** Whether nothing more can be kept of what files are full of. */
  readonly isFull: boolean;
  /** Leaves the frames that end before this place. */
  leave(start: number): void;
  /** Adds a symbol; undefined where there are too many. */
  add(symbol: NewSymbol): number | undefined;
  /** Lets a symbol reach until the end of this node: the declaration with the body came after those without. */
  extend(symbol: number, node: Node): void;
  /** The first symbol of that name that stands in no other. */
  find(name: string): number | undefined;
  /** Says that what has this name in the file is exported, wherever it is declared. */
  exportName(name: string): void;
  import(found: GraphImport): void;
  /** Says that an imported name has another one in this file: calls are named as what they call is. */
  alias(local: string, name: string): void;
  call(name: string, receiver: string | undefined, line: number): void;
  /** Where decorators that directly precede a node begin; else where the node itself does. */
  decoratedStart(node: Node): number;
  decorator(node: Node): void;
  finish(): {
    readonly symbols: readonly GraphSymbol[];
    readonly imports: readonly GraphImport[];
    readonly calls: readonly GraphCall[];
    /** Whether something was left out for a limit. */
    readonly full: boolean;
  };
}

/** What is kept of one file; more of it is left out and the file is called `broken`. */
export const MAX_SYMBOLS = 10_000;
export const MAX_CALLS = 20_000;
export const MAX_IMPORTS = 5_000;
/** Names taken by one import: a line of generated code may take thousands. */
const MAX_IMPORTED_NAMES = 500;

/** Characters of a text that are read. A tree takes some twenty times as much memory as its text. */
export const MAX_CHARS = 2 * 1024 * 1024;

/** Characters of what is said of one symbol, call or import. */
export const MAX_NAME = 200;
export const MAX_SIGNATURE = 200;
export const MAX_DOC = 200;
export const MAX_RECEIVER = 80;
export const MAX_SPECIFIER = 1_000;

/** Values of variables and fields that are longer, or have several lines, are left out of signatures. */
export const MAX_SHOWN_VALUE = 80;

/** Patterns (`const { a: { b } } = …`) that stand within each other. */
export const MAX_PATTERN_DEPTH = 32;
