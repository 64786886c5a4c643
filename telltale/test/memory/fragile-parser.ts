import { appendFileSync } from 'node:fs';
import type { SourceParser } from '../../src/memory/memory.ts';

/** A parser that does what a text asks for: ends its thread, throws, takes for ever, or counts. Else a line `def x` is a symbol. */
export function createSourceParser(): SourceParser {
  return {
    async parse(language, text) {
      if (text.includes('CRASH')) process.exit(7);
      if (text.includes('THROW')) throw new Error('memory access out of bounds');
      if (text.includes('HANG')) for (;;);
      const [, counted] = /COUNT (\S+)/.exec(text) ?? [];
      if (counted !== undefined) appendFileSync(counted, '.');
      if (text.includes('SLOW')) await new Promise((resolve) => setTimeout(resolve, 5));
      const found = [...text.matchAll(/^def (\w+)/gm)];
      return {
        language,
        symbols: found.map(([signature, name = ''], at) => ({
          name,
          signature,
          kind: 'function',
          line: at + 1,
          endLine: at + 1,
          exported: true,
        })),
        imports: [...text.matchAll(/^import (\S+)/gm)].map(([, specifier = '']) => ({
          specifier,
          line: 1,
          names: ['*'],
        })),
        calls: [],
        broken: false,
      };
    },
    close() {},
  };
}
