import { createHash } from 'node:crypto';
import type { ParserEvent } from '../../telltale/src/parser/intents.ts';
import { createTagParser, type TagParserOptions } from '../../telltale/src/parser/tags/tag-parser.ts';

export interface Fingerprint {
  /** The same for two readings exactly when they gave the same events, adjacent text of one tag joined. */
  readonly hash: string;
  readonly events: number;
  readonly faults: number;
}

/** Feeds a fresh parser and hashes what it says, messages of faults included. */
export function fingerprint(chunks: readonly string[], options?: TagParserOptions): Fingerprint {
  const parser = createTagParser(options);
  const hash = createHash('sha256');
  let events = 0;
  let faults = 0;
  let prose: { readonly key: string; readonly parts: string[] } | undefined;
  const flush = () => {
    if (!prose) return;
    hash.update(`${prose.key} ${JSON.stringify(prose.parts.join(''))}\n`);
    events += 1;
    prose = undefined;
  };
  const take = (event: ParserEvent) => {
    if (event.type === 'text' || event.type === 'delta') {
      const key = event.type === 'text' ? 'text' : `delta ${event.tag}`;
      if (prose?.key !== key) flush();
      prose ??= { key, parts: [] };
      prose.parts.push(event.text);
      return;
    }
    flush();
    hash.update(`${JSON.stringify(event)}\n`);
    events += 1;
    if (event.type === 'fault') faults += 1;
  };
  for (const chunk of chunks) for (const event of parser.push(chunk)) take(event);
  for (const event of parser.end()) take(event);
  flush();
  return { hash: hash.digest('hex'), events, faults };
}
