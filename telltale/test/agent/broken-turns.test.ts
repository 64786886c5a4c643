import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defineTool } from '../../src/agent/define/definitions.ts';
import type { SessionEvent } from '../../src/log/event.ts';
import type { Model } from '../../src/models/model.ts';
import { moreRuns } from '../more-runs.ts';
import { lived } from './taken-up-stage.ts';

const RUNS = moreRuns(120);
const AFTER = Array.from({ length: 5 }, () => '<response>Done.</response>');
const MOST_IDS = 6;

const moment = () => new Promise((resolve) => setImmediate(resolve));
const tool = (name: string, run: () => unknown) => defineTool({ name, idempotent: true, run });
const agent = {
  tools: [
    tool('now', () => 'now'),
    tool('soon', () => moment().then(() => 'soon')),
    tool('list', () => moment().then(() => [1, 2])),
    tool('bad', () => moment().then(() => Promise.reject(new Error('no luck')))),
  ],
  metadata: { fields: { stage: { values: ['NEW', 'BEGUN'], default: 'NEW' } } },
} as const;

/** A piece of a turn; `#` stands for an id of its own. Others are named by their number, whether they came or come. */
type Piece = fc.Arbitrary<string>;
const some = (piece: Piece, most: number, least = 0): Piece =>
  fc.array(piece, { minLength: least, maxLength: most }).map((pieces) => pieces.join(''));

const other = fc.integer({ min: 1, max: MOST_IDS }).map((n) => `i${n}`);
const needs: Piece = fc.oneof(
  fc.constant(''),
  other.map((id) => `,"depends_on":["${id}"]`),
  other.map((id) => `,"parameters":{"text":"$${id}"}`),
);
const action: Piece = fc
  .tuple(
    fc.constantFrom('', '', ' mode="sync"', ' mode="fire_and_forget"'),
    fc.constantFrom('now', 'soon', 'soon', 'bad', 'list'),
    needs,
  )
  .map(([mode, name, rest]) => `<action id="#"${mode}>{"name":"${name}"${rest}}</action>`);
const mistake: Piece = fc.constantFrom(
  '<action id="#">{"nam":"now"}</action>',
  '<action id="#" mode="fast">{"name":"now"}</action>',
  '<action id="twice">{"name":"now"}</action>',
  '<action id="#">{"template":"none"}</action>',
);
const response: Piece = other.map((id) => `\n<response final="false">It is $${id}.</response>`);
const simple: Piece = fc.oneof(
  { weight: 8, arbitrary: action },
  { weight: 1, arbitrary: mistake },
  { weight: 1, arbitrary: fc.constantFrom('Well. ', '<thought>Hm.</thought>') },
  { weight: 1, arbitrary: fc.constant('<metadata>{"stage":"BEGUN"}</metadata>') },
);
const TESTS = ['true', 'false', "metadata.stage == 'BEGUN'", 'nothing.like.it'];

const { inside } = fc.letrec<{ inside: string; branch: string; group: string; loop: string }>((tie) => ({
  inside: fc.oneof(
    { maxDepth: 3 },
    { weight: 6, arbitrary: simple },
    { weight: 2, arbitrary: tie('group') },
    { weight: 2, arbitrary: tie('branch') },
    { weight: 1, arbitrary: tie('loop') },
  ),
  branch: fc
    .tuple(fc.constantFrom(...TESTS), some(fc.oneof(tie('inside'), response), 3), some(tie('inside'), 2))
    .map(([test, then, otherwise]) => `<if test="${test}">${then}<else/>${otherwise}</if>`),
  group: fc
    .tuple(fc.constantFrom('', ' id="#"', ' id="#"'), some(tie('inside'), 3))
    .map(([id, text]) => `<parallel${id}>${text}</parallel>`),
  loop: fc
    .tuple(other, some(action, 2, 1))
    .map(([list, text]) => `<foreach in="$${list}" as="x">${text}</foreach>`),
}));

const turn = some(fc.oneof({ weight: 6, arbitrary: inside }, { weight: 1, arbitrary: response }), 5, 1).map(
  (text) => {
    let ids = 0;
    return text.replaceAll('id="#"', () => `id="i${++ids}"`);
  },
);

/** Says these, one after the other, whatever it had said before. */
const sayingAnew = (texts: readonly string[]): Model => {
  const left = [...texts];
  return {
    id: 'anew',
    async stream(_request, sink) {
      await moment();
      sink.text(left.shift() ?? '<response>Done.</response>');
      return { finish: 'stop' };
    },
  };
};

const stray = fc.constantFrom(
  '',
  '</parallel>',
  '</if>',
  '<else/>',
  '</thought>',
  '<parallel id="i1">',
  '```\n',
  '<response>',
);
const wild = fc.tuple(stray, turn, stray).map((parts) => parts.join(''));
const ENDS = ['completed', 'failed', 'skipped', 'cancelled', 'interrupted'].map((end) => `action.${end}`);

it('whatever a model says where its turn was cut short, time and again, its session ends, and so does each action, once', async () => {
  await fc.assert(
    fc.asyncProperty(
      turn,
      fc.array(fc.tuple(fc.nat(), wild), { minLength: 1, maxLength: 3 }),
      async (text, cuts) => {
        const { events, behind, close } = await lived([text, ...AFTER], { agent });
        let log: readonly SessionEvent[] = events;
        let from: string | undefined;
        for (const [place, said] of cuts) {
          const seq = 2 + (place % (log.length - 2));
          const { all, id, result } = await behind(
            (event) => event.seq === seq,
            sayingAnew([said, said]),
            undefined,
            from,
          );
          expect(['completed', 'failed', 'stalled']).toContain(result.status);
          const declared = all.flatMap((event) =>
            event.type === 'action.declared' ? [event.action.id] : [],
          );
          expect(new Set(declared).size).toBe(declared.length);
          const ended = all.flatMap((event) =>
            ENDS.includes(event.type) ? [(event as { id?: string }).id] : [],
          );
          expect(ended.sort()).toEqual(declared.sort());
          log = all;
          from = id;
        }
        await close();
      },
    ),
    { numRuns: RUNS },
  );
});
