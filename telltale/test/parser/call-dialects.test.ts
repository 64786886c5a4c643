import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTurnParts } from '../../src/lib/calls.ts';
import type { CallDialect } from '../../src/parser/dialect-parser.ts';
import { createCallDialectParser } from '../../src/parser/dialect-parser.ts';
import { moreRuns } from '../more-runs.ts';
import { chunkSizes } from './chunking.ts';
import { frame, hear, hearByIntents, hostileTurn } from './frames.ts';

const DIALECTS: readonly CallDialect[] = ['tools', 'step'];

describe.each(DIALECTS)('the parser of the dialect %s', (dialect) => {
  it('gives the same events however the turn is cut, and takes the same ids', () => {
    fc.assert(
      fc.property(hostileTurn, chunkSizes, (text, sizes) => {
        const whole = hear(dialect, text);
        expect(hear(dialect, text, {}, sizes)).toEqual(whole);
        expect(hearByIntents(dialect, text)).toEqual(whole);
        expect(whole.consumed).toBe(text.length);
      }),
      { numRuns: moreRuns(500) },
    );
  });

  it('does so with a small limit, too, and keeps no more than that', () => {
    fc.assert(
      fc.property(hostileTurn, chunkSizes, fc.nat(40), (text, sizes, max_body) => {
        expect(hear(dialect, text, { max_body }, sizes)).toEqual(hear(dialect, text, { max_body }));
      }),
      { numRuns: moreRuns(300) },
    );
  });

  it('reads a name that is too long in the same way however it is cut', () => {
    const text = frame('x'.repeat(5000), {});
    expect(hear(dialect, text, {}, [7])).toEqual(hear(dialect, text));
  });

  it('opens and closes speech in pairs, each close after its open', () => {
    fc.assert(
      fc.property(hostileTurn, (text) => {
        const open = { thought: 0, response: 0 };
        for (const event of hear(dialect, text).events) {
          if (event.type === 'open') expect(++open[event.tag]).toBe(1);
          if (event.type === 'delta') expect(open[event.tag]).toBe(1);
          if (event.type === 'close') expect(--open[event.tag]).toBe(0);
        }
        expect(open).toEqual({ thought: 0, response: 0 });
      }),
    );
  });

  it('counts as calls what everybody else reads as calls', () => {
    fc.assert(
      fc.property(hostileTurn, (text) => {
        const parser = createCallDialectParser(dialect);
        parser.push(text);
        expect(parser.closed).toBe(readTurnParts(text).filter(({ type }) => type === 'call').length);
      }),
    );
  });

  it('reads deep and long input in linear time, and refuses what is too deep', () => {
    const deep = `{"a":${'['.repeat(100_000)}`;
    const item = dialect === 'step' ? `{"tool_calls":[${deep}` : deep;
    const { events } = hear(dialect, frame(dialect === 'step' ? 'step' : 'search', item), {}, [7]);
    expect(events.filter(({ type }) => type === 'action')).toEqual([]);
    expect(events.some((event) => event.type === 'fault')).toBe(true);
  });

  it('refuses input that is too large, once, and goes on behind it', () => {
    const large = JSON.stringify({ thought: 'x'.repeat(100), text: 'x'.repeat(100) });
    const name = dialect === 'step' ? 'step' : 'search';
    const { events } = hear(dialect, `${frame(name, large)}Prose.`, { max_body: 50 }, [9]);
    const faults = events.flatMap((event) => (event.type === 'fault' ? [event.code] : []));
    expect(faults).toEqual(['body_too_large']);
    expect(events.at(-1)).toEqual({ type: 'text', text: 'Prose.' });
  });

  it('may not be pushed to once it has ended', () => {
    const parser = createCallDialectParser(dialect);
    parser.end();
    expect(parser.end()).toEqual([]);
    expect(() => parser.push('x')).toThrow(/end\(\)/);
  });
});
