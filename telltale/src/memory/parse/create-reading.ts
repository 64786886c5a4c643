import type { GraphCall, GraphImport, GraphSymbol } from '../../store/graph.ts';
import {
  MAX_CALLS,
  MAX_IMPORTED_NAMES,
  MAX_IMPORTS,
  MAX_NAME,
  MAX_SPECIFIER,
  MAX_SYMBOLS,
} from './limits.ts';
import type { Frame, Reading } from './reading.ts';

type Draft = { -readonly [Key in keyof GraphSymbol]: GraphSymbol[Key] } & { asContainer: boolean };

export function createReading(text: string): Reading {
  const drafts: Draft[] = [];
  const imports: GraphImport[] = [];
  const calls: GraphCall[] = [];
  const exportedNames = new Set<string>();
  const aliases = new Map<string, string>();
  const outermost = new Map<string, number>();
  const frames: Frame[] = [
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
      const frame: Frame = {
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
