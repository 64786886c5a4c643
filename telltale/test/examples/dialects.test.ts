import { beforeAll, describe, expect, it } from 'vitest';
import { FRAME_BREAK, FRAME_MARK } from '../../src/lib/calls.ts';
import { loadScript } from '../../src/models/scripted/load-script.ts';
import { turnText } from '../../src/models/scripted/script.ts';
import type { Dialect } from '../../src/parser/dialect-parser.ts';
import { type ExampleRun, examples, expectEvents, expectSoundLog, runExample } from './example-run.ts';
import { normalizeEvents, withoutWords } from './normalize-events.ts';
import { answeredIn, PROVIDERS, serveScript } from './scripted-provider.ts';

const folder = `${examples}/dialects`;
const input = '40 m of mooring rope, 2 anchor lamps and a red ensign';
const DIALECTS = ['tags', 'tools', 'step'] as const satisfies readonly Dialect[];

/** Real files, and packages of providers that are loaded for the first time. */
const TIMEOUT_MS = 60_000;

const same = ({ events }: ExampleRun) => normalizeEvents(withoutWords(events), {});
let tags: ExampleRun;

beforeAll(async () => {
  tags = await runExample({ folder, input });
}, TIMEOUT_MS);

describe('examples/dialects', () => {
  it('does what expected.events.jsonl says', () => expectEvents('dialects', tags.events, { FOLDER: folder }));

  it('has a log that is sound', () => expectSoundLog(tags.events));

  it('says plainly what it could not find', () => {
    expect(tags.result).toMatchObject({ status: 'completed', turns: 2 });
    expect(tags.result.result).toContain('come to 291, less 5 %: 276.45. We have no red ensign.');
  });

  it.each(['tools', 'step'])(
    'comes to the same events in the dialect %s',
    { timeout: TIMEOUT_MS },
    async (dialect) => {
      const run = await runExample({ folder, input, env: { DIALECT: dialect } });
      expectSoundLog(run.events);
      expect(same(run)).toBe(same(tags));
    },
  );
});

/** Behind the first action of the first turn, which reads the terms. */
const FIRST_ACTION: Readonly<Record<Dialect, (turn: string) => number>> = {
  tags: (turn) => behind(turn, '</action>'),
  tools: (turn) => behind(turn, FRAME_MARK + FRAME_BREAK, turn.indexOf('"id":"terms"')),
  step: (turn) => behind(turn, '"id":"terms"}'),
};

function behind(turn: string, mark: string, from = 0): number {
  const at = turn.indexOf(mark, from);
  if (at === -1 || from === -1) throw new Error(`The script has no ${JSON.stringify(mark)}.`);
  return at + mark.length;
}

describe.each(PROVIDERS.map((provider) => [provider.name, provider] as const))(
  'examples/dialects over the wire of %s',
  (_name, provider) => {
    it.each(DIALECTS)(
      'comes to the same events in the dialect %s',
      { timeout: TIMEOUT_MS },
      async (dialect) => {
        const script = await loadScript(`turns/${dialect}.yml`, folder);
        const turns = script.turns.map((turn, at) => turnText(turn, at + 1));
        let goOn = () => {};
        const server = await serveScript(provider, turns, {
          turn: 1,
          at: FIRST_ACTION[dialect](turns[0] ?? ''),
          until: new Promise((resolve) => {
            goOn = resolve;
          }),
        });
        /** How many answers had been given whole when each of these came. */
        const given = new Map<string, number>();
        try {
          const run = await runExample({
            folder,
            input,
            env: { DIALECT: dialect, ...server.env },
            model: server.ref,
            watch: (event) => {
              if (!('id' in event) || event.id !== 'terms') return;
              given.set(event.type, server.given());
              if (event.type === 'action.completed') goOn();
            },
          });
          expectSoundLog(run.events);
          expect(same(run)).toBe(same(tags));
          expect(Object.fromEntries(given)).toEqual({ 'action.started': 0, 'action.completed': 0 });
          expect(server.requests).toHaveLength(2);
          const [first] = turns;
          const calls = dialect === 'tags' ? 0 : (first?.split(`${FRAME_MARK}{"id"`).length ?? 1) - 1;
          const answered = server.requests.map(answeredIn);
          expect(answered[0]).toEqual([]);
          expect(answered[1]?.map((turn) => turn.calls.length)).toEqual(calls === 0 ? [] : [calls]);
          for (const turn of answered[1] ?? []) expect(turn.answers).toEqual(turn.calls);
        } finally {
          goOn();
          await server.close();
        }
      },
    );
  },
);
